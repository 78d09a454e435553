// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 06.4 matrix_multiply: what matrix_multiply.cu starts from. There is nothing to do in here.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <string>

#include "lab/cuda_check.hpp"
#include "lab/device_buffer.hpp"
#include "lab/errors.hpp"
#include "lab/refuse_if.hpp"
#include "lab/time_kernel.hpp"
#include "matrix_multiply.hpp"

namespace lab::matrix_multiply {

/// Asked by division, since rows * columns may overflow.
inline void require_matrix(const char* name, std::size_t elements, std::size_t rows,
                           std::size_t columns) {
  const bool right = rows == 0 || columns == 0 ? elements == 0
                                               : elements / rows == columns && elements % rows == 0;
  refuse_if(!right, "matrix_multiply: ", name, " has ", elements, " elements, and ", rows, " x ",
            columns, " are needed");
}

}  // namespace lab::matrix_multiply
