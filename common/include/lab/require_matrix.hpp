// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// require_matrix: whether an argument has as many elements as its matrix.
#pragma once

#include <cstddef>

#include "lab/refuse_if.hpp"

namespace lab {

/// Whether `elements` is rows * columns; asked by division, since that product may overflow.
inline bool is_product(std::size_t elements, std::size_t rows, std::size_t columns) {
  if (rows == 0 || columns == 0) return elements == 0;
  return elements / rows == columns && elements % rows == 0;
}

/// Throws invalid_input if `elements` is not rows * columns. `name` is the exercise's and the
/// matrix's: "matrix_multiply: A".
inline void require_matrix(const char* name, std::size_t elements, std::size_t rows,
                           std::size_t columns) {
  refuse_if(!is_product(elements, rows, columns), name, " has ", elements, " elements, and ", rows,
            " x ", columns, " are needed");
}

}  // namespace lab
