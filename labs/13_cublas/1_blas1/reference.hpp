// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 13.1 blas1: what the results are compared with, and how far they may be from it.
#pragma once

#include <cmath>
#include <cstddef>
#include <vector>

#include "blas1.hpp"

namespace lab::blas1 {

inline double element(strided x, std::size_t i) {
  return x.data[i * static_cast<std::size_t>(x.increment)];
}

inline std::vector<double> copy_reference(std::size_t n, strided x, strided y) {
  std::vector<double> result(y.data.begin(), y.data.end());
  for (std::size_t i = 0; i < n; ++i)
    result[i * static_cast<std::size_t>(y.increment)] = element(x, i);
  return result;
}

inline std::vector<double> scale_reference(std::size_t n, double alpha, strided x) {
  std::vector<double> result(x.data.begin(), x.data.end());
  for (std::size_t i = 0; i < n; ++i) result[i * static_cast<std::size_t>(x.increment)] *= alpha;
  return result;
}

/// In long double, which has 11 bits more than a double, or 60.
inline double dot_reference(std::size_t n, strided x, strided y) {
  long double sum = 0;
  for (std::size_t i = 0; i < n; ++i)
    sum += static_cast<long double>(element(x, i)) * static_cast<long double>(element(y, i));
  return static_cast<double>(sum);
}

/// In long double, whose exponents reach from 10^-4932 to 10^4932: no square of a double overflows
/// or vanishes.
inline double norm_reference(std::size_t n, strided x) {
  long double sum = 0;
  for (std::size_t i = 0; i < n; ++i)
    sum += static_cast<long double>(element(x, i)) * static_cast<long double>(element(x, i));
  return static_cast<double>(std::sqrt(sum));
}

/// A rounding of a double moves a number by at most 2^-53 of itself. Whatever the order of the
/// additions, a product goes through its own rounding and at most n - 1 others, so the sum is off
/// by at most n * 2^-53 times the sum of |x[i] * y[i]|; 2 more for the reference's last rounding
/// and the magnitudes' own. The factor 1 + 2^-10 is for the n roundings in long double, which are
/// 2^11 times finer, and for terms of second order (n * 2^-53 is tiny).
inline double dot_bound(std::size_t n, strided x, strided y) {
  double magnitude = 0;
  for (std::size_t i = 0; i < n; ++i) magnitude += std::fabs(element(x, i) * element(y, i));
  return (static_cast<double>(n) + 2) * (1 + 0x1p-10) * 0x1p-53 * magnitude;
}

/// All terms are positive, so nothing cancels and the bound is a part of the norm itself. Scaled
/// by some number first, a square has three roundings (the scaled element counts twice), its
/// additions at most n - 1; the square root halves all that, and adds a rounding of its own;
/// scaling back adds one, the reference one. That is below (n + 8) * 2^-53.
inline double norm_bound(std::size_t n, strided x) {
  return (static_cast<double>(n) + 8) * 0x1p-53 * norm_reference(n, x);
}

}  // namespace lab::blas1
