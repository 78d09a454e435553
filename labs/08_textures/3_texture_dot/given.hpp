// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 08.3 texture_dot: what texture_dot.cu starts from. There is nothing to do in here.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <string>
#include <vector>

#include "lab/cuda_check.hpp"
#include "lab/device_buffer.hpp"
#include "lab/errors.hpp"
#include "lab/refuse_if.hpp"
#include "lab/texture.hpp"
#include "lab/time_kernel.hpp"
#include "texture_dot.hpp"

namespace lab::texture_dot {

/// The tree of 05.1 (given): the sum of what the threads of this block bring along, for thread 0.
/// `cache` is shared memory with one float a thread. All threads of the block call it.
__device__ inline float sum_of_block(float* cache, float mine) {
  const unsigned thread = threadIdx.x;
  cache[thread] = mine;
  __syncthreads();  // all numbers are in place
  for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
    if (thread < half) cache[thread] += cache[thread + half];
    __syncthreads();  // this level is complete; outside the if: all threads of the block arrive
  }
  return cache[0];
}

}  // namespace lab::texture_dot
