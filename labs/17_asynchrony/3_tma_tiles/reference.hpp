// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 17.3 tma_tiles: what the results are compared with.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tma_tiles.hpp"

namespace lab::tma_tiles {

/// The stencil on the host. Unsigned numbers wrap around here as they do in the kernels.
inline std::vector<std::uint32_t> reference(std::span<const std::uint32_t> values,
                                            std::size_t width, std::size_t height) {
  std::vector<std::uint32_t> sums(values.size());
  for (std::size_t y = 0; y < height; ++y)
    for (std::size_t x = 0; x < width; ++x) {
      std::uint32_t sum = 0;
      // x + i - 4 and y + i - 4; what is below 0 wraps around, and is no index either.
      for (std::size_t i = 0; i <= 2 * kReach; ++i) {
        const auto weight = static_cast<std::uint32_t>(i);
        if (x + i - kReach < width) sum += (weight + 1) * values[y * width + x + i - kReach];
        if (y + i - kReach < height) sum += (2 * weight + 3) * values[(y + i - kReach) * width + x];
      }
      sums[y * width + x] = sum;
    }
  return sums;
}

}  // namespace lab::tma_tiles
