// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 06.2 transpose: what transpose.cu starts from. There is nothing to do in here.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <string>

#include "lab/cuda_check.hpp"
#include "lab/device_buffer.hpp"
#include "lab/errors.hpp"
#include "lab/refuse_if.hpp"
#include "lab/time_kernel.hpp"
#include "transpose.hpp"

namespace lab::transpose {

/// The grid of blocks that take `high` rows and `wide` columns of the matrix each. x goes along the
/// columns.
inline dim3 grid_for(std::size_t rows, std::size_t columns, unsigned high, unsigned wide) {
  int device = 0, limit = 0;
  CUDA_CHECK(cudaGetDevice(&device));
  CUDA_CHECK(cudaDeviceGetAttribute(&limit, cudaDevAttrMaxGridDimY, device));
  const std::size_t down = (rows + high - 1) / high;
  const std::size_t across = (columns + wide - 1) / wide;
  refuse_if(down > static_cast<std::size_t>(limit), "transpose: ", rows, " rows need ", down,
            " rows of blocks, and a grid has at most ", limit);
  return dim3(static_cast<unsigned>(across), static_cast<unsigned>(down));
}

/// Divides, since rows * columns may overflow.
inline bool has_shape(std::size_t elements, std::size_t rows, std::size_t columns) {
  if (rows == 0 || columns == 0) return elements == 0;
  return elements / rows == columns && elements % rows == 0;
}

}  // namespace lab::transpose
