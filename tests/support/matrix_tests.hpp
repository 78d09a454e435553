// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Matrices and scalars for tests of products.
#pragma once

#include <cstddef>
#include <limits>
#include <vector>

namespace lab::testing {

/// alpha and beta of alpha * A * B + beta * C.
struct scalars {
  float alpha, beta;
};

/// Both of every sign, zero, one and neither: code that drops one, or its sign, is wrong somewhere.
inline constexpr scalars kScalars[] = {{1, 0}, {-1, 0}, {0, 1},  {0, -3}, {0, 0},  {1, 1},
                                       {2, 1}, {1, 3},  {-2, 5}, {3, -1}, {-1, -2}};

/// `tight` with its rows `padding` further apart than they are long. Everything between them, and
/// after the last one, is NaN: it must not be read.
inline std::vector<float> padded(const std::vector<float>& tight, std::size_t rows,
                                 std::size_t columns, std::size_t padding) {
  const std::size_t pitch = columns + padding;
  std::vector<float> array(rows * pitch, std::numeric_limits<float>::quiet_NaN());
  for (std::size_t row = 0; row < rows; ++row)
    for (std::size_t column = 0; column < columns; ++column)
      array[row * pitch + column] = tight[row * columns + column];
  return array;
}

}  // namespace lab::testing
