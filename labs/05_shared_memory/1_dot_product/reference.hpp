// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 05.1 dot_product: what the results are compared with, and how far they may be from it.
#pragma once

#include <cmath>
#include <cstddef>
#include <functional>
#include <numeric>
#include <span>

namespace lab::dot_product {

/// The dot product in double, on the host. A product of two floats is exact in double (24 + 24
/// bits fit into 53), and the sum's own rounding is 2^29 times finer than that of floats.
inline double reference(std::span<const float> a, std::span<const float> b) {
  return std::transform_reduce(
      a.begin(), a.end(), b.begin(), 0.0, std::plus<>{},
      [](float x, float y) { return static_cast<double>(x) * static_cast<double>(y); });
}

/// How far a float result may be from the reference.
///
/// A rounding of a float multiplies a number by something from 1 - u to 1 + u, with u = 2^-24. On
/// its way into the result a product a[i] * b[i] goes through m roundings: its own, the additions
/// of its thread, the levels of the tree, the result's. So it arrives off by at most (1 + u)^m - 1
/// of itself (m * u while m is small), and the result by as much of sum |a[i] * b[i]|. With 1024
/// threads or more, a thread adds at most n / 1024 products, rounded up; 32 more covers the rest: a
/// block of 1024 threads has 10 levels. Note the sum of the |a[i] * b[i]|: where terms cancel, the
/// result can be much smaller than that, and no order of the additions brings back what the large
/// terms rounded away.
inline double error_bound(std::span<const float> a, std::span<const float> b) {
  const double magnitude = std::transform_reduce(
      a.begin(), a.end(), b.begin(), 0.0, std::plus<>{},
      [](float x, float y) { return std::fabs(static_cast<double>(x) * static_cast<double>(y)); });
  const double roundings = std::ceil(static_cast<double>(a.size()) / 1024) + 32;
  return std::expm1(roundings * std::log1p(0x1p-24)) * magnitude;
}

}  // namespace lab::dot_product
