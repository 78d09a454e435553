// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Differs from the solution: the trees begin with neighbours and have no more levels than the lanes
// of the warp require, the last lane of a warp adds its sum to the total, and a thread adds up
// single values.

#include <cuda_runtime.h>

#include "given.hpp"

namespace lab::warp_sum {
namespace {

// --- masks ---------------------------------------------------------------------------------------

/// The lanes of this thread's warp, as a mask: bit i is set if the block has a thread in lane i.
__device__ unsigned lanes_of_warp() {
  const unsigned left = blockDim.x - (threadIdx.x - threadIdx.x % kLanes);
  return left < kLanes ? (1U << left) - 1 : kAllLanes;
}

// --- the sum of a warp, in three ways ------------------------------------------------------------
// Each returns, in every lane, the sum of the values that the lanes of the warp pass. All lanes of
// the warp call it together, with the mask of lanes_of_warp().

__device__ unsigned sum_by_shuffle_down(unsigned lanes, unsigned mine) {
  // Neighbours first: after distance d, lane 0 has the sum of lanes 0 to 2 d - 1.
  const unsigned there = __popc(lanes), lane = threadIdx.x % kLanes;
  for (unsigned d = 1; d < there; d *= 2) {
    const unsigned other = __shfl_down_sync(lanes, mine, d);
    mine += lane + d < there ? other : 0;
  }
  return __shfl_sync(lanes, mine, 0);
}

__device__ unsigned sum_by_butterfly(unsigned lanes, unsigned mine) {
  const unsigned there = __popc(lanes), lane = threadIdx.x % kLanes;
  for (unsigned bit = 1; bit < there; bit <<= 1) {
    const unsigned other = __shfl_xor_sync(lanes, mine, bit);
    if ((lane ^ bit) < there) mine += other;
  }
  return there == kLanes ? mine : __shfl_sync(lanes, mine, 0);
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
  unsigned mine = 0;
  const std::size_t apart = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += apart)
    mine += values[i];
  const unsigned lanes = lanes_of_warp(), sum = sum_of_warp<kStep>(lanes, mine);
  const unsigned last = kLanes - 1 - __clz(static_cast<int>(lanes));
  if (threadIdx.x % kLanes == last) atomicAdd(total, sum);
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
