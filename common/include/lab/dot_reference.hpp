// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// The dot product on the host, and how far one in floats may be from it.
#pragma once

#include <cmath>
#include <functional>
#include <numeric>
#include <span>

namespace lab {

/// The dot product in double. A product of two floats is exact in double (24 + 24 bits fit into
/// 53), and each rounding of the sum is 2^29 times finer than one of a float. The vectors are
/// equally long.
inline double dot_in_double(std::span<const float> a, std::span<const float> b) {
  return std::transform_reduce(
      a.begin(), a.end(), b.begin(), 0.0, std::plus<>{},
      [](float x, float y) { return static_cast<double>(x) * static_cast<double>(y); });
}

/// How far a dot product in floats may be from the exact one if each product a[i] * b[i], on its
/// way into the result, goes through at most `roundings` roundings: its own and one for each
/// addition.
///
/// A rounding of a float multiplies a number by something from 1 - u to 1 + u, with u = 2^-24. So
/// after all its roundings a product arrives off by at most (1 + u)^roundings - 1 of itself (for
/// few of them that is roundings * u, for a million 3 % more), and the sum by as much of sum |a[i]
/// * b[i]|. The reference that it is compared with has roundings of its own: in dot_in_double() a
/// product goes through at most one for each of the n additions, of 2^-53 each.
inline double dot_error_bound(std::span<const float> a, std::span<const float> b,
                              double roundings) {
  const double magnitude = std::transform_reduce(
      a.begin(), a.end(), b.begin(), 0.0, std::plus<>{},
      [](float x, float y) { return std::fabs(static_cast<double>(x) * static_cast<double>(y)); });
  const double of_the_result = std::expm1(roundings * std::log1p(0x1p-24));
  const double of_the_reference = static_cast<double>(a.size()) * 0x1p-53;
  return (of_the_result + of_the_reference) * magnitude;
}

}  // namespace lab
