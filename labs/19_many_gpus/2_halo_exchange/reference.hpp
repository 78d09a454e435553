// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 19.2 halo_exchange: what the results are compared with.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "halo_exchange.hpp"

namespace lab::halo_exchange {

/// All time steps, on the host, without parts. The kernels round after each operation, as the host
/// does, so all bits are the same.
inline std::vector<float> reference(int width, int height, std::span<const float> initial,
                                    std::span<const float> heaters, int steps) {
  std::vector<float> cells(initial.begin(), initial.end()), heated(cells.size());
  const auto at = [&](int x, int y) {  // beyond an edge is the cell at the edge
    const int row = std::clamp(y, 0, height - 1), column = std::clamp(x, 0, width - 1);
    return heated[static_cast<std::size_t>(row) * static_cast<std::size_t>(width) +
                  static_cast<std::size_t>(column)];
  };
  for (int i = 0; i < steps; ++i) {
    for (std::size_t cell = 0; cell < cells.size(); ++cell)
      heated[cell] = heaters[cell] != 0 ? heaters[cell] : cells[cell];
    std::size_t cell = 0;
    for (int y = 0; y < height; ++y)
      for (int x = 0; x < width; ++x, ++cell) {
        const float around = at(x, y - 1) + at(x, y + 1) + at(x - 1, y) + at(x + 1, y);
        cells[cell] = heated[cell] + 0.25F * (around - 4 * heated[cell]);
      }
  }
  return cells;
}

}  // namespace lab::halo_exchange
