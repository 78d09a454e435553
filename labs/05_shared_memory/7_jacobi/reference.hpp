// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 05.7 jacobi: what the results are compared with.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace lab::jacobi {

/// One sweep on the host, from one matrix into another. Nothing has to be allowed for: these are
/// the same three additions in the same order, each rounded once by the same rule, and the factor
/// 1/4 is a power of two. (Nor can a compiler merge two roundings into one, as it can in
/// a * b + c: here the product comes last.)
inline std::vector<float> sweep(std::span<const float> matrix, std::size_t side) {
  const std::size_t width = side + 2;
  std::vector<float> after(matrix.begin(), matrix.end());
  for (std::size_t row = 1; row <= side; ++row)
    for (std::size_t column = 1; column <= side; ++column) {
      const std::size_t here = row * width + column;
      const float sum = matrix[here - width] + matrix[here - 1] + matrix[here + 1];
      after[here] = 0.25F * (sum + matrix[here + width]);
    }
  return after;
}

/// `sweeps` of them.
inline std::vector<float> reference(std::span<const float> matrix, std::size_t side,
                                    std::size_t sweeps) {
  std::vector<float> relaxed(matrix.begin(), matrix.end());
  for (std::size_t i = 0; i < sweeps; ++i) relaxed = sweep(relaxed, side);
  return relaxed;
}

}  // namespace lab::jacobi
