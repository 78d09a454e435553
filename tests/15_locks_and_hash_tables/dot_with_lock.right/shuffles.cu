// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// A block adds up its products by shuffles, and its last thread acts for it: it takes the lock by
// an exchange, and admits the next block by an addition. locked begins with the last part.

#include <cuda_runtime.h>

#include "given.hpp"

namespace lab::dot_with_lock {
namespace {

/// The sum of a part, for the last thread of the block.
__device__ float sum_for_last(const float* a, const float* b, std::size_t n, unsigned part) {
  __shared__ float of_warp[kThreads / 32];
  const std::size_t step_size = std::size_t{gridDim.x} * kThreads;
  float mine = 0;
  std::size_t i = std::size_t{part} * kThreads + threadIdx.x;
  while (i < n) {
    mine = fmaf(a[i], b[i], mine);
    i += step_size;
  }
  for (unsigned d = 1; d < 32; d *= 2) mine += __shfl_xor_sync(0xFFFF'FFFFU, mine, d);
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = mine;
  __syncthreads();
  float sum = 0;
  if (threadIdx.x == kThreads - 1)
    for (const float each : of_warp) sum += each;
  return sum;
}

__device__ bool acts() { return threadIdx.x == kThreads - 1; }

__global__ void under_a_lock(const float* a, const float* b, std::size_t n, meeting_place* all) {
  const float sum = sum_for_last(a, b, n, gridDim.x - 1 - blockIdx.x);
  if (!acts()) return;
  while (atomicExch(&all->lock, 1) == 1) {
  }
  __threadfence();
  const float before = all->total;
  all->total = before + sum;
  __threadfence();
  atomicCAS(&all->lock, 1, 0);
}

__global__ void without_a_lock(const float* a, const float* b, std::size_t n, meeting_place* all) {
  const float sum = sum_for_last(a, b, n, blockIdx.x);
  if (acts()) atomicAdd(&all->total, sum);
}

__global__ void part_after_part(const float* a, const float* b, std::size_t n, meeting_place* all) {
  __shared__ unsigned mine;
  if (acts()) mine = atomicInc(&all->drawn, 0xFFFF'FFFFU);
  __syncthreads();
  const unsigned ticket = mine;
  const float sum = sum_for_last(a, b, n, ticket);
  if (!acts()) return;
  for (;;) {
    if (atomicMax(&all->admitted, 0U) == ticket) break;
    __nanosleep(100);
  }
  __threadfence();
  all->total += sum;
  __threadfence();
  atomicAdd(&all->admitted, 1U);
}

}  // namespace

result dot(step version, std::span<const float> a, std::span<const float> b, unsigned blocks) {
  return host_part_of_dot(
      [](step chosen, unsigned grid, const float* x, const float* y, std::size_t n,
         meeting_place* all) {
        if (chosen == step::locked)
          under_a_lock<<<grid, kThreads>>>(x, y, n, all);
        else if (chosen == step::atomic_add)
          without_a_lock<<<grid, kThreads>>>(x, y, n, all);
        else
          part_after_part<<<grid, kThreads>>>(x, y, n, all);
      },
      version, a, b, blocks);
}

}  // namespace lab::dot_with_lock
