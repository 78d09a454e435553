// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 06.2 transpose: what the results are compared with.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace lab::transpose {

/// The transpose on the host. Nothing is calculated, so results are compared exactly.
inline std::vector<float> reference(std::span<const float> matrix, std::size_t rows,
                                    std::size_t columns) {
  std::vector<float> transposed(matrix.size());
  for (std::size_t y = 0; y < rows; ++y)
    for (std::size_t x = 0; x < columns; ++x) transposed[x * rows + y] = matrix[y * columns + x];
  return transposed;
}

}  // namespace lab::transpose
