// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Lanes without a value leave before the sum: a vote has made the mask of the others. A thread adds
// up single values.

#include <cuda_runtime.h>

#include "given.hpp"

namespace lab::warp_sum {
namespace {

__device__ unsigned lanes_of_warp() {
  const unsigned there = blockDim.x - threadIdx.x / kLanes * kLanes;
  return there >= kLanes ? kAllLanes : kAllLanes >> (kLanes - there);
}

__device__ unsigned sum_by_shuffle_down(unsigned lanes, unsigned mine) {
  const unsigned there = static_cast<unsigned>(__popc(lanes)), lane = threadIdx.x % kLanes;
  for (unsigned rest = there;
       rest > 1;) {  // halves, rounded up: as many levels as there are lanes for
    const unsigned half = (rest + 1) / 2;
    const unsigned theirs = __shfl_down_sync(lanes, mine, half);
    if (lane + half < rest) mine += theirs;
    rest = half;
  }
  return __shfl_sync(lanes, mine, 0);
}

__device__ unsigned sum_by_butterfly(unsigned lanes, unsigned mine) {
  const unsigned lane = threadIdx.x % kLanes;
  for (unsigned d = kLanes / 2; d > 0; d /= 2) {
    const unsigned theirs = __shfl_xor_sync(lanes, mine, d);
    if ((lanes >> (lane ^ d) & 1U) != 0) mine += theirs;
  }
  if (lanes != kAllLanes) mine = __shfl_sync(lanes, mine, 0);
  return mine;
}

__device__ unsigned sum_by_instruction(unsigned lanes, unsigned mine) {
#if __CUDA_ARCH__ >= 800
  return __reduce_add_sync(lanes, mine);
#else
  return sum_by_butterfly(lanes, mine);
#endif
}

template <step kStep>
__device__ unsigned sum_of_warp(unsigned lanes, unsigned mine) {
  if constexpr (kStep == step::shuffle_down) return sum_by_shuffle_down(lanes, mine);
  if constexpr (kStep == step::butterfly) return sum_by_butterfly(lanes, mine);
  if constexpr (kStep == step::reduce_sync) return sum_by_instruction(lanes, mine);
}

template <step kStep>
__global__ void each_lane(const unsigned* values, std::size_t n, unsigned* sums) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  // The lanes with a value are the first ones of the warp. The others leave, and the mask says so.
  const unsigned lanes = __ballot_sync(lanes_of_warp(), i < n);
  if (i >= n) return;
  sums[i] = sum_of_warp<kStep>(lanes, values[i]);
}

template <step kStep>
__global__ void add_up(const unsigned* values, std::size_t n, unsigned* total) {
  const unsigned lanes = lanes_of_warp();
  unsigned mine = 0;
  const std::size_t stride = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += stride)
    mine += values[i];
  mine = sum_of_warp<kStep>(lanes, mine);
  if ((threadIdx.x & 31U) == 0) atomicAdd(total, mine);
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
