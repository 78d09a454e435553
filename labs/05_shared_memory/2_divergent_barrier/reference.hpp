// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 05.2 divergent_barrier: what the results are compared with, and how far they may be from it.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

#include "divergent_barrier.hpp"

namespace lab::divergent_barrier {

/// The sums of kBlock values each, in double: of 256 floats, its own rounding is 2^29 times finer
/// than theirs.
inline std::vector<double> reference_sums(std::span<const float> values) {
  std::vector<double> sums((values.size() + kBlock - 1) / kBlock);
  for (std::size_t i = 0; i < values.size(); ++i)
    sums[i / kBlock] += static_cast<double>(values[i]);
  return sums;
}

/// A rounding of a float moves a number by at most 2^-24 of itself. On its way through the tree a
/// value takes part in 8 additions (256 = 2^8); another one covers terms of second order. So a sum
/// is off by at most 9 * 2^-24 * sum |value|, of which 256 values have at most 256 times the
/// largest.
inline double sum_bound(std::span<const float> values) {
  double largest = 0;
  for (const float value : values) largest = std::max(largest, std::fabs(double{value}));
  return 9 * 0x1p-24 * kBlock * largest;
}

inline std::vector<double> reference_means(std::span<const float> table) {
  const std::size_t columns = table.size() / kRows;
  std::vector<double> result(table.begin(), table.end());
  for (std::size_t column = 0; column < columns; ++column) {
    double sum = 0;
    for (std::size_t row = 0; row < kRows; ++row) sum += double{table[row * columns + column]};
    for (std::size_t row = 0; row < kRows; ++row) result[row * columns + column] -= sum / kRows;
  }
  return result;
}

/// As above with 3 additions (8 = 2^3). The division by 8 is exact. The mean is at most as large as
/// the largest number, and what is left at most twice: the last rounding adds 2 * 2^-24 of that.
/// (3 + 1 + 2) * 2^-24 * largest.
inline double mean_bound(std::span<const float> table) {
  double largest = 0;
  for (const float value : table) largest = std::max(largest, std::fabs(double{value}));
  return 6 * 0x1p-24 * largest;
}

}  // namespace lab::divergent_barrier
