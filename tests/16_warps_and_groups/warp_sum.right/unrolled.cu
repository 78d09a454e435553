// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Differs from the solution: a warp is full if its threads are not among the last ones of the
// block, the tree is written out level by level, and a warp adds its sum by a cuda::atomic_ref,
// unless it is 0.

#include <cuda_runtime.h>

#include <cuda/atomic>

#include "given.hpp"

namespace lab::warp_sum {
namespace {

// --- masks ---------------------------------------------------------------------------------------

/// The lanes of this thread's warp, as a mask: bit i is set if the block has a thread in lane i.
__device__ unsigned lanes_of_warp() {
  const unsigned rest = blockDim.x % kLanes;
  const bool full = threadIdx.x < blockDim.x - rest;
  return full ? kAllLanes : (1U << rest) - 1;
}

// --- the sum of a warp, in three ways ------------------------------------------------------------
// Each returns, in every lane, the sum of the values that the lanes of the warp pass. All lanes of
// the warp call it together, with the mask of lanes_of_warp().

__device__ unsigned sum_by_shuffle_down(unsigned lanes, unsigned mine) {
  const unsigned lane = threadIdx.x % kLanes, there = __popc(lanes);
#define LEVEL(d)                                             \
  {                                                          \
    const unsigned other = __shfl_down_sync(lanes, mine, d); \
    if (lane + d < there) mine += other;                     \
  }
  LEVEL(16)
  LEVEL(8)
  LEVEL(4)
  LEVEL(2)
  LEVEL(1)
#undef LEVEL
  return __shfl_sync(lanes, mine, 0);
}

__device__ unsigned sum_by_butterfly(unsigned lanes, unsigned mine) {
  const unsigned lane = threadIdx.x % kLanes;
  for (unsigned d = kLanes / 2; d > 0; d /= 2) {
    const unsigned other = __shfl_xor_sync(lanes, mine, d);
    if (lanes >> (lane ^ d) & 1) mine += other;
  }
  return __shfl_sync(lanes, mine, 0);
}

// GPUs have the instruction since compute capability 8.0. This function is compiled once for each
// kind of GPU that the program is built for, and __CUDA_ARCH__ says for which: 800 means 8.0. For
// the CPU device it is 900, so the instruction is used there.
__device__ unsigned sum_by_instruction(unsigned lanes, unsigned mine) {
#if __CUDA_ARCH__ >= 800
  return __reduce_add_sync(lanes, mine);
#else
  return sum_by_butterfly(lanes, mine);  // for older GPUs
#endif
}

template <step kStep>
__device__ unsigned sum_of_warp(unsigned lanes, unsigned mine) {
  if constexpr (kStep == step::shuffle_down)
    return sum_by_shuffle_down(lanes, mine);
  else if constexpr (kStep == step::butterfly)
    return sum_by_butterfly(lanes, mine);
  else
    return sum_by_instruction(lanes, mine);
}

// --- two kernels ---------------------------------------------------------------------------------

/// One value per thread. sums[i]: the sum of thread i's warp, as thread i has it.
template <step kStep>
__global__ void each_lane(const unsigned* values, std::size_t n, unsigned* sums) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  const unsigned sum = sum_of_warp<kStep>(lanes_of_warp(), i < n ? values[i] : 0);
  if (i < n) sums[i] = sum;
}

/// *total += the sum of all values.
template <step kStep>
__global__ void add_up(const unsigned* values, std::size_t n, unsigned* total) {
  const unsigned sum = sum_of_warp<kStep>(lanes_of_warp(), sum_of_thread(values, n));
  if (threadIdx.x % kLanes == 0 && sum != 0)
    cuda::atomic_ref<unsigned, cuda::thread_scope_device>(*total).fetch_add(
        sum, cuda::memory_order_relaxed);
}

template <step kStep>
void launch(const job& j) {
  if (j.sums != nullptr)
    each_lane<kStep><<<j.blocks, j.threads>>>(j.values, j.n, j.sums);
  else
    add_up<kStep><<<j.blocks, j.threads>>>(j.values, j.n, j.total);
}

void launch(step version, const job& j) {
  if (version == step::shuffle_down) launch<step::shuffle_down>(j);
  if (version == step::butterfly) launch<step::butterfly>(j);
  if (version == step::reduce_sync) launch<step::reduce_sync>(j);
}

}  // namespace

std::vector<std::uint32_t> warp_sums(step version, std::span<const std::uint32_t> values,
                                     unsigned threads) {
  return host_part_of_warp_sums([=](const job& j) { launch(version, j); }, values, threads);
}

result sum(step version, std::span<const std::uint32_t> values, unsigned threads) {
  return host_part_of_sum([=](const job& j) { launch(version, j); }, values, threads);
}

}  // namespace lab::warp_sum
