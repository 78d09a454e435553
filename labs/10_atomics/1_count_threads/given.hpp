// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 10.1 count_threads: what count_threads.cu starts from. There is nothing to do in here.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include "count_threads.hpp"
#include "lab/cuda_check.hpp"
#include "lab/device_buffer.hpp"
#include "lab/errors.hpp"
#include "lab/launch_limits.hpp"
#include "lab/time_kernel.hpp"

namespace lab::count_threads {

inline void require_possible(const shape& grid) {
  require_at_most(cudaDevAttrMaxBlockDimX, grid.threads.x, "threads of a block along x");
  require_at_most(cudaDevAttrMaxBlockDimY, grid.threads.y, "threads of a block along y");
  require_at_most(cudaDevAttrMaxThreadsPerBlock, std::size_t{grid.threads.x} * grid.threads.y,
                  "threads in a block");
  require_at_most(cudaDevAttrMaxGridDimX, grid.blocks.x, "blocks along x");
  require_at_most(cudaDevAttrMaxGridDimY, grid.blocks.y, "blocks along y");
}

}  // namespace lab::count_threads
