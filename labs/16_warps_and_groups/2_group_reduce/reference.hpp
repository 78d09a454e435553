// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 16.2 group_reduce: the same on the host. Whole numbers modulo 2^32: nothing is rounded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

namespace lab::group_reduce {

inline std::vector<std::uint32_t> reference_sums(std::span<const std::uint32_t> values,
                                                 std::size_t length, std::uint32_t limit) {
  std::vector<std::uint32_t> sums;
  for (std::size_t begin = 0; begin < values.size(); begin += length) {
    const auto row = values.subspan(begin, length);
    sums.push_back(std::accumulate(row.begin(), row.end(), std::uint32_t{0},
                                   [limit](std::uint32_t sum, std::uint32_t value) {
                                     return value < limit ? sum + value : sum;
                                   }));
  }
  return sums;
}

}  // namespace lab::group_reduce
