// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 13.9 matmul_race: what the products are compared with, and how far they may be from it.
#pragma once

#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "lab/closeness.hpp"
#include "matmul_race.hpp"

namespace lab::matmul_race {

/// Compares C with A · B, added up in double.
///
/// The bound: rounding to float moves a number by at most u = 2^-24 of itself. On its way into an
/// element of C a product a * b goes through at most k + 1 roundings: its own and those of the k
/// sums that it is part of, in whatever order they are made (a fused multiply-add has fewer). So
/// an element is off by at most (k + 1) * u * sum |a * b|, to first order; 1 + 2^-8 covers the
/// higher orders and the reference's own roundings while k < 2^15, and float's smallest step is for
/// products that underflow. Two racers may differ by twice as much.
inline comparison check(std::span<const float> c, std::span<const float> a,
                        std::span<const float> b, shape size) {
  if (c.size() != size.m * size.n)
    return {false, "C has " + std::to_string(c.size()) + " elements, expected " +
                       std::to_string(size.m) + " x " + std::to_string(size.n)};
  const double roundings = static_cast<double>(size.k) + 1;
  std::size_t wrong = 0;
  std::string first;
  for (std::size_t row = 0; row < size.m; ++row) {
    std::vector<double> value(size.n), magnitude(size.n);
    for (std::size_t i = 0; i < size.k; ++i)
      for (std::size_t column = 0; column < size.n; ++column) {
        const double product =
            static_cast<double>(a[row * size.k + i]) * static_cast<double>(b[i * size.n + column]);
        value[column] += product;
        magnitude[column] += std::fabs(product);
      }
    for (std::size_t column = 0; column < size.n; ++column) {
      const double bound =
          roundings * (0x1p-24 * (1 + 0x1p-8) * magnitude[column] +
                       static_cast<double>(std::numeric_limits<float>::denorm_min()));
      const double got = c[row * size.n + column];
      if (inside(got, value[column], {.absolute = bound})) continue;
      if (wrong++ == 0)
        first = "row " + std::to_string(row) + ", column " + std::to_string(column) + ": got " +
                std::to_string(got) + ", expected " + std::to_string(value[column]);
    }
  }
  if (wrong == 0) return {true, "all " + std::to_string(c.size()) + " elements match"};
  return {false, std::to_string(wrong) + " of " + std::to_string(c.size()) +
                     " elements differ; first in " + first};
}

}  // namespace lab::matmul_race
