// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 17.4 memory_pools: what the results are compared with.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace lab::memory_pools {

/// All jobs, on the host. Unsigned numbers wrap around here as they do in the kernels.
inline std::vector<std::uint32_t> reference(std::span<const std::uint32_t> values,
                                            std::span<const std::size_t> lengths) {
  std::vector<std::uint32_t> smoothed;
  smoothed.reserve(values.size());
  for (const std::size_t length : lengths) {
    // With a zero at either end, no value lacks a neighbour.
    std::vector<std::uint32_t> now(length + 2), next(length + 2);
    for (std::size_t i = 0; i < length; ++i) now[i + 1] = values[smoothed.size() + i];
    for (int pass = 0; pass < 2; ++pass) {
      for (std::size_t i = 1; i <= length; ++i) next[i] = now[i - 1] + 2 * now[i] + now[i + 1];
      now.swap(next);
    }
    smoothed.insert(smoothed.end(), now.begin() + 1, now.end() - 1);
  }
  return smoothed;
}

}  // namespace lab::memory_pools
