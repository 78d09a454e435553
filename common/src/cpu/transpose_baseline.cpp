// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "lab/transpose_baseline.hpp"

#include "lab/require_matrix.hpp"

namespace lab {

std::optional<float> library_transpose_milliseconds(std::span<const float> matrix, std::size_t rows,
                                                    std::size_t columns) {
  require_matrix("library_transpose_milliseconds", matrix.size(), rows, columns);
  return std::nullopt;  // a library's time on host threads says nothing about a GPU
}

}  // namespace lab
