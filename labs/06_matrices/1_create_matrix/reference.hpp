// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 06.1 create_matrix: what the results are compared with.
#pragma once

#include <cstddef>
#include <vector>

namespace lab::create_matrix {

/// The matrix on the host, row after row. Its last element fits into an int.
inline std::vector<int> reference(std::size_t rows, std::size_t columns) {
  std::vector<int> elements;
  elements.reserve(rows * columns);
  for (std::size_t y = 0; y < rows; ++y)
    for (std::size_t x = 0; x < columns; ++x) elements.push_back(static_cast<int>(10 * y + x));
  return elements;
}

}  // namespace lab::create_matrix
