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
/// 53), and the sum's own rounding is 2^29 times finer than that of floats. The vectors are equally
/// long.
inline double dot_in_double(std::span<const float> a, std::span<const float> b) {
  return std::transform_reduce(
      a.begin(), a.end(), b.begin(), 0.0, std::plus<>{},
      [](float x, float y) { return static_cast<double>(x) * static_cast<double>(y); });
}

/// How far a dot product in floats may be from the exact one if each product a[i] * b[i], on its
/// way into the result, goes through at most `roundings` roundings: its own and one for each
/// addition.
///
/// A rounding of a float moves a number by at most 2^-24 of itself. So a product arrives off by at
/// most roundings * 2^-24 * |a[i] * b[i]| (to first order), and all together by
/// roundings * 2^-24 * sum |a[i] * b[i]|.
inline double dot_error_bound(std::span<const float> a, std::span<const float> b,
                              double roundings) {
  const double magnitude = std::transform_reduce(
      a.begin(), a.end(), b.begin(), 0.0, std::plus<>{},
      [](float x, float y) { return std::fabs(static_cast<double>(x) * static_cast<double>(y)); });
  return roundings * 0x1p-24 * magnitude;
}

}  // namespace lab
