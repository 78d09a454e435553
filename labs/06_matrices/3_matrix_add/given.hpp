// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 06.3 matrix_add: what matrix_add.cu starts from. There is nothing to do in here.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>

#include "lab/cuda_check.hpp"
#include "lab/device_buffer.hpp"
#include "lab/errors.hpp"
#include "lab/refuse_if.hpp"
#include "lab/time_kernel.hpp"
#include "matrix_add.hpp"

namespace lab::matrix_add {

constexpr unsigned kBlockX = 32, kBlockY = 8;  // a warp is a piece of one row

/// A thread for each element, but at most this many blocks one below the other: they fill every
/// GPU, even if the matrix is only one block wide. A kernel strides down to the rows that are left.
constexpr std::size_t kMostBlocksDown = 1024;

inline dim3 grid_for(std::size_t rows, std::size_t columns) {
  const std::size_t across = (columns + kBlockX - 1) / kBlockX;
  const std::size_t down = std::min((rows + kBlockY - 1) / kBlockY, kMostBlocksDown);
  return dim3(static_cast<unsigned>(across), static_cast<unsigned>(down));
}

/// Divides, since rows * columns may overflow.
inline bool has_shape(std::size_t elements, std::size_t rows, std::size_t columns) {
  if (rows == 0 || columns == 0) return elements == 0;
  return elements / rows == columns && elements % rows == 0;
}

}  // namespace lab::matrix_add
