// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 07.3 constant_dot: what the results are compared with, and how far they may be from it.
#pragma once

#include <cmath>
#include <cstddef>
#include <functional>
#include <numeric>
#include <span>

namespace lab::constant_dot {

/// The dot product in double, on the host. A product of two floats is exact in double (24 + 24
/// bits fit into 53), and the sum's own rounding is 2^29 times finer than that of floats.
inline double reference(std::span<const float> a, std::span<const float> b) {
  return std::transform_reduce(
      a.begin(), a.end(), b.begin(), 0.0, std::plus<>{},
      [](float x, float y) { return static_cast<double>(x) * static_cast<double>(y); });
}

/// How far a float result may be from the reference: each product goes through m roundings of a
/// float on its way into the result, and each moves it by at most 2^-24 of itself. A thread that
/// adds at most 16 products (1024 threads for a pass) makes 17 of them, the tree of a block up to
/// 10, and the result one: 32 is enough. The blocks' sums are added in double.
inline double error_bound(std::span<const float> a, std::span<const float> b) {
  const double magnitude = std::transform_reduce(
      a.begin(), a.end(), b.begin(), 0.0, std::plus<>{},
      [](float x, float y) { return std::fabs(static_cast<double>(x) * static_cast<double>(y)); });
  return 32 * 0x1p-24 * magnitude;
}

}  // namespace lab::constant_dot
