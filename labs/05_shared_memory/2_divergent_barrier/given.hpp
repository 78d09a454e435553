// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 05.2 divergent_barrier: what divergent_barrier.cu starts from. There is nothing to do in here.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <string>

#include "divergent_barrier.hpp"
#include "lab/cuda_check.hpp"
#include "lab/device_buffer.hpp"
#include "lab/refuse_if.hpp"
#include "lab/time_kernel.hpp"

namespace lab::divergent_barrier {

/// How many blocks of `size` things n things need, rounded up.
inline unsigned blocks_for(std::size_t n, std::size_t size) {
  constexpr std::size_t kMost = 0x7FFF'FFFF;  // blocks in a grid
  const std::size_t blocks = n / size + (n % size != 0 ? 1 : 0);
  refuse_if(blocks > kMost, "divergent_barrier: ", blocks,
            " blocks are needed, and a grid has at most ", kMost);
  return static_cast<unsigned>(blocks);
}

}  // namespace lab::divergent_barrier
