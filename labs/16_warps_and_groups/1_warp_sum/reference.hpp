// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 16.1 warp_sum: the same on the host. Whole numbers modulo 2^32: nothing is rounded.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

namespace lab::warp_sum {

/// What each thread has in the end, with blocks of `threads` threads.
inline std::vector<std::uint32_t> reference_warp_sums(std::span<const std::uint32_t> values,
                                                      std::size_t threads) {
  std::vector<std::uint32_t> sums;
  for (std::size_t begin = 0; begin < values.size();) {
    // A warp ends after 32 lanes, with its block, or with the values.
    const std::size_t in_block = begin % threads;
    const std::size_t lanes =
        std::min({std::size_t{32}, threads - in_block, values.size() - begin});
    const auto warp = values.subspan(begin, lanes);
    sums.insert(sums.end(), lanes, std::accumulate(warp.begin(), warp.end(), std::uint32_t{0}));
    begin += lanes;
  }
  return sums;
}

inline std::uint32_t reference_sum(std::span<const std::uint32_t> values) {
  return std::accumulate(values.begin(), values.end(), std::uint32_t{0});
}

}  // namespace lab::warp_sum
