// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// The sum of a block's numbers, for the exercises after 05.1, which teaches it.
#pragma once

#include <cuda_runtime.h>

namespace lab {

/// The tree of 05.1: the sum of what the threads of this block contribute, for all of them.
/// `cache` is shared memory with one element per thread; blockDim.x is a power of two. All threads
/// of the block call it, and none writes to `cache` afterwards without a barrier before.
template <class T>
__device__ inline T sum_of_block(T* cache, T mine) {
  const unsigned thread = threadIdx.x;
  cache[thread] = mine;
  __syncthreads();  // all numbers are in place
  for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
    if (thread < half) cache[thread] += cache[thread + half];
    __syncthreads();  // this level is complete; outside the if: all threads of the block arrive
  }
  return cache[0];
}

}  // namespace lab
