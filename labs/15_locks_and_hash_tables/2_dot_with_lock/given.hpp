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

/// dot(), where `launch` launches the kernel of a step.
inline result host_part_of_dot(void (*launch)(step version, unsigned blocks, const float* a,
                                              const float* b, std::size_t n, meeting_place* all),
                               step version, std::span<const float> a, std::span<const float> b,
                               unsigned blocks) {
  const std::size_t n = a.size();
  refuse_if(n != b.size(), "dot_with_lock: a has ", n, " elements and b has ", b.size(),
            "; they must be equally long");
  refuse_if(blocks == 0 || blocks > kMostBlocks, "dot_with_lock: a grid of ", blocks,
            " blocks; it must be from 1 to ", kMostBlocks);
  if (n == 0) return {};

  const device_buffer device_a(a), device_b(b);
  device_buffer<meeting_place> all(1);
  const float kernel_ms =
      time_kernel([&] { launch(version, blocks, device_a.data(), device_b.data(), n, all.data()); },
                  [&] { CUDA_CHECK(cudaMemset(all.data(), 0, all.size_bytes())); });
  return {all.to_vector().front().total, kernel_ms};
}

}  // namespace lab::dot_with_lock
