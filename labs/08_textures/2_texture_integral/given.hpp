// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 08.2 texture_integral: what texture_integral.cu starts from. There is nothing to do in here.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
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
#include "texture_integral.hpp"

namespace lab::texture_integral {

/// The tree of 05.1, in double (given): the sum of what the threads of this block bring along, for
/// thread 0. `cache` is shared memory with one double a thread. All threads of the block call it.
__device__ inline double sum_of_block(double* cache, double mine) {
  const unsigned thread = threadIdx.x;
  cache[thread] = mine;
  __syncthreads();  // all numbers are in place
  for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
    if (thread < half) cache[thread] += cache[thread + half];
    __syncthreads();  // this level is complete; outside the if: all threads of the block arrive
  }
  return cache[0];
}

inline void require_sensible(std::span<const float> samples, double from, double to) {
  const std::size_t most = most_texels_in_linear_memory();
  refuse_if(samples.empty() || samples.size() > most, "texture_integral: ", samples.size(),
            " samples, where this device's textures allow from 1 to ", most);
  refuse_if(!std::isfinite(to - from),  // nor is it where one of them is not finite
            "texture_integral: from ", from, " to ", to, " is no finite distance");
}

}  // namespace lab::texture_integral
