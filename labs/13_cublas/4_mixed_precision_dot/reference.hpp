// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 13.4 mixed_precision_dot: what the results are compared with, and how far they may be from it.
#pragma once

#include <cmath>
#include <cstddef>
#include <limits>
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

/// How far a sum may be from the reference if each product goes through at most n roundings of
/// `unit` on its way into it: together they move it by a factor up to (1 + unit)^n, and
/// (1 + unit)^n - 1 <= e^(n unit) - 1. The reference is summed with roundings of its own, and then
/// rounded to double. The factor 1 + 2^-10 is for the sum of magnitudes, which is rounded as well.
inline double bound(std::span<const float> x, std::span<const float> y, double unit) {
  constexpr double kOfReference = std::numeric_limits<long double>::epsilon() / 2;
  const auto n = static_cast<double>(x.size());
  return (1 + 0x1p-10) * (std::expm1(n * unit) + n * kOfReference + 0x1p-53) *
         sum_of_magnitudes(x, y);
}

/// In float: a product's own rounding, and n - 1 sums in whatever order. A product that underflows
/// is off by float's smallest step at most.
inline double float_bound(std::span<const float> x, std::span<const float> y) {
  constexpr double kSmallest = std::numeric_limits<float>::denorm_min();
  return bound(x, y, 0x1p-24) + static_cast<double>(x.size()) * kSmallest;
}

/// In double: no rounding of a product, and n sums: of pieces, and of their results.
inline double double_bound(std::span<const float> x, std::span<const float> y) {
  return bound(x, y, 0x1p-53);
}

}  // namespace lab::mixed_precision_dot
