// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 06.1 create_matrix: what create_matrix.cu starts from. There is nothing to do in here.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <string>

#include "create_matrix.hpp"
#include "lab/cuda_check.hpp"
#include "lab/device_buffer.hpp"
#include "lab/errors.hpp"
#include "lab/launch_limits.hpp"
#include "lab/refuse_if.hpp"
#include "lab/time_kernel.hpp"

namespace lab::create_matrix {

inline void require(std::size_t value, std::size_t most, const std::string& units) {
  refuse_if(value == 0 || value > most, "create_matrix: ", value, " ", units,
            "; this device launches 1 to ", most);
}

inline void require_launchable(launch_shape shape) {
  require(shape.grid_x, device_limit(cudaDevAttrMaxGridDimX), "blocks in x");
  require(shape.grid_y, device_limit(cudaDevAttrMaxGridDimY), "blocks in y");
  require(shape.block_x, device_limit(cudaDevAttrMaxBlockDimX), "threads of a block in x");
  require(shape.block_y, device_limit(cudaDevAttrMaxBlockDimY), "threads of a block in y");
  require(std::size_t{shape.block_x} * shape.block_y, device_limit(cudaDevAttrMaxThreadsPerBlock),
          "threads in a block");
}

inline void require_elements_of_int(std::size_t rows, std::size_t columns) {
  constexpr auto kMost = static_cast<std::size_t>(std::numeric_limits<int>::max());
  const bool fits = columns - 1 <= kMost && rows - 1 <= (kMost - (columns - 1)) / 10;
  refuse_if(!fits, "create_matrix: the last element of ", rows, " rows of ", columns,
            " is more than an int can be");
}

}  // namespace lab::create_matrix
