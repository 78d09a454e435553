// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 15.2 dot_with_lock: what dot_with_lock.cu starts from. There is nothing to do in here.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <string>

#include "dot_with_lock.hpp"
#include "lab/cuda_check.hpp"
#include "lab/device_buffer.hpp"
#include "lab/errors.hpp"
#include "lab/refuse_if.hpp"
#include "lab/time_kernel.hpp"

namespace lab::dot_with_lock {

/// Where the blocks meet. All of it is 0 before the kernel begins.
struct meeting_place {
  float total;
  int lock;           // 0: free, 1: taken
  unsigned drawn;     // tickets that were drawn so far
  unsigned admitted;  // the ticket whose turn it is
};

/// Given (05.1): the sum of the products of one part, for thread 0. All threads of the block call
/// it, with the same part.
__device__ inline float sum_of_part(const float* a, const float* b, std::size_t n, unsigned part) {
  __shared__ float cache[kThreads];
  const unsigned thread = threadIdx.x;
  const std::size_t stride = std::size_t{gridDim.x} * kThreads;
  float mine = 0;
  for (std::size_t i = std::size_t{part} * kThreads + thread; i < n; i += stride)
    mine += a[i] * b[i];
  cache[thread] = mine;
  __syncthreads();
  for (unsigned half = kThreads / 2; half > 0; half /= 2) {
    if (thread < half) cache[thread] += cache[thread + half];
    __syncthreads();
  }
  return cache[0];
}

}  // namespace lab::dot_with_lock
