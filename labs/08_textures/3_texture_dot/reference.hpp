// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 08.3 texture_dot: what the results are compared with, and how far they may be from it.
#pragma once

#include <cmath>
#include <cstddef>
#include <functional>
#include <numeric>
#include <span>

namespace lab::texture_dot {

/// The dot product in double, on the host. A product of two floats is exact in double (24 + 24
/// bits fit into 53), and the sum's own rounding is 2^29 times finer than that of floats.
inline double reference(std::span<const float> a, std::span<const float> b) {
  return std::transform_reduce(
      a.begin(), a.end(), b.begin(), 0.0, std::plus<>{},
      [](float x, float y) { return static_cast<double>(x) * static_cast<double>(y); });
}

/// How far a float result may be from the reference: each product goes through m roundings of a
/// float on its way into the result, and each moves it by at most 2^-24 of itself. With 1024
/// threads or more, a thread adds at most n / 1024 products, rounded up; 32 more covers the product
/// itself, the tree of a block and the result. A fetch at a texel's middle, without a filter,
/// rounds nothing.
inline double error_bound(std::span<const float> a, std::span<const float> b) {
  const double magnitude = std::transform_reduce(
      a.begin(), a.end(), b.begin(), 0.0, std::plus<>{},
      [](float x, float y) { return std::fabs(static_cast<double>(x) * static_cast<double>(y)); });
  const double roundings = std::ceil(static_cast<double>(a.size()) / 1024) + 32;
  return roundings * 0x1p-24 * magnitude;
}

}  // namespace lab::texture_dot
