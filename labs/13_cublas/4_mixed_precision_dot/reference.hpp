// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 13.4 mixed_precision_dot: what the results are compared with, and how far they may be from it.
#pragma once

#include <cmath>
#include <cstddef>
#include <span>

namespace lab::mixed_precision_dot {

/// A product of two floats is exact in double (24 + 24 bits fit into 53). The sum is made in long
/// double, which has at least as many bits, with 11 to spare on most machines.
inline double reference(std::span<const float> x, std::span<const float> y) {
  long double sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i)
    sum += static_cast<long double>(static_cast<double>(x[i]) * static_cast<double>(y[i]));
  return static_cast<double>(sum);
}

inline double sum_of_magnitudes(std::span<const float> x, std::span<const float> y) {
  double sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i)
    sum += std::fabs(static_cast<double>(x[i]) * static_cast<double>(y[i]));
  return sum;
}

/// A rounding of a float moves a number by at most 2^-24 of itself, and a product goes through at
/// most n of them: its own, and n - 1 sums in whatever order. 2 more cover the second order.
inline double float_bound(std::span<const float> x, std::span<const float> y) {
  return (static_cast<double>(x.size()) + 2) * 0x1p-24 * sum_of_magnitudes(x, y);
}

/// The same with 2^-53 and without the product's own rounding, which is none. n sums are of
/// pieces and of their results; 2 more cover the second order and the reference's own rounding.
inline double double_bound(std::span<const float> x, std::span<const float> y) {
  return (static_cast<double>(x.size()) + 2) * 0x1p-53 * sum_of_magnitudes(x, y);
}

}  // namespace lab::mixed_precision_dot
