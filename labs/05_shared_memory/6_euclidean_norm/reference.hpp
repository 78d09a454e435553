// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 05.6 euclidean_norm: what the results are compared with, and how far they may be from it.
#pragma once

#include <cmath>
#include <cstddef>
#include <functional>
#include <limits>
#include <numeric>
#include <span>

namespace lab::euclidean_norm {

/// The norm in double. The square of any float is exact there (48 bits, and at least 2^-298), and
/// far from overflow: 2^256, while a double reaches 2^1023.
inline double reference(std::span<const float> x) {
  return std::sqrt(std::transform_reduce(x.begin(), x.end(), 0.0, std::plus<>{}, [](float value) {
    return static_cast<double>(value) * static_cast<double>(value);
  }));
}

/// What a float can be of it: infinity above the largest float.
inline double as_float(double norm) { return static_cast<double>(static_cast<float>(norm)); }

/// How far a finite result may be from the reference.
///
/// No term is negative, so nothing cancels, and relative errors just add up. A rounding moves a
/// number by at most u = 2^-24 of itself. What is one step of a sum in by_dot_product, an addition,
/// is at most five roundings in one_pass: the quotient of two scales, counted twice as it is
/// multiplied in twice, these two products, and the addition. A square passes the steps of its
/// thread, at most n / 1024, rounded up, with 1024 threads or more; 10 levels of a tree; 3 more
/// for itself. The root halves relative errors; 2 more are its own and the result's. Where the
/// result is subnormal, its rounding is not relative to it, but half the smallest float. (Scaled
/// squares may underflow, too. That loses at most 2^-150 each, beside a sum of at least 1.)
inline double error_bound(std::span<const float> x) {
  const double steps = std::ceil(static_cast<double>(x.size()) / 1024) + 13;
  const double relative = (5 * steps / 2 + 2) * 0x1p-24;
  return relative * reference(x) +
         static_cast<double>(std::numeric_limits<float>::denorm_min()) / 2;
}

}  // namespace lab::euclidean_norm
