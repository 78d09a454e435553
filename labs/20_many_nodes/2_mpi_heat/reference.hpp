// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 20.2 mpi_heat: what the results are compared with.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "lab/closeness.hpp"

namespace lab::mpi_heat {

/// The same on the host, with floats and without any division into parts.
inline std::vector<float> reference(int width, int height, std::span<const float> initial,
                                    std::span<const float> heaters, int steps) {
  std::vector<float> cells(initial.begin(), initial.end()), next(cells);
  const auto at = [&](int x, int y) {
    return cells[static_cast<std::size_t>(std::clamp(y, 0, height - 1)) *
                     static_cast<std::size_t>(width) +
                 static_cast<std::size_t>(std::clamp(x, 0, width - 1))];
  };
  for (int i = 0; i < steps; ++i) {
    for (std::size_t k = 0; k < cells.size(); ++k)
      if (heaters[k] != 0) cells[k] = heaters[k];
    std::size_t k = 0;
    for (int y = 0; y < height; ++y)
      for (int x = 0; x < width; ++x, ++k) {
        const float around = at(x, y - 1) + at(x, y + 1) + at(x - 1, y) + at(x + 1, y);
        next[k] = cells[k] + 0.25F * (around - 4 * cells[k]);
      }
    cells.swap(next);
  }
  return cells;
}

}  // namespace lab::mpi_heat
