// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// The tree halves any number of lanes, and rounds up; before the butterfly, the values of the lanes
// beyond the largest power of two are added to those of others; a thread adds up neighbouring
// values.

#include <cuda_runtime.h>

#include "given.hpp"

namespace lab::warp_sum {
namespace {

/// The lanes of a warp are 0, …, size - 1.
struct lanes {
  unsigned size, lane, mask;
  __device__ lanes()
      : size(min(kLanes, blockDim.x - threadIdx.x / kLanes * kLanes)),
        lane(threadIdx.x % kLanes),
        mask(kAllLanes >> (kLanes - size)) {}
};

__device__ unsigned by_tree(const lanes& warp, unsigned mine) {
  for (unsigned left = warp.size; left > 1;) {
    const unsigned half = (left + 1) / 2;
    const unsigned other = __shfl_down_sync(warp.mask, mine, half);
    if (warp.lane + half < left) mine += other;
    left = half;
  }
  return __shfl_sync(warp.mask, mine, 0);
}

__device__ unsigned by_butterfly(const lanes& warp, unsigned mine) {
  unsigned wide = kLanes;
  while (wide > warp.size) wide /= 2;
  if (wide < warp.size) {  // the same for all lanes
    const unsigned beyond = __shfl_down_sync(warp.mask, mine, wide);
    if (warp.lane + wide < warp.size) mine += beyond;
  }
  for (unsigned bit = 1; bit < wide; bit *= 2) {
    const unsigned other = __shfl_xor_sync(warp.mask, mine, static_cast<int>(bit));
    if (warp.lane < wide) mine += other;
  }
  return __shfl_sync(warp.mask, mine, static_cast<int>(warp.lane % wide));
}

template <step kStep>
__device__ unsigned sum_of(const lanes& warp, unsigned mine) {
  if constexpr (kStep == step::shuffle_down) return by_tree(warp, mine);
#if __CUDA_ARCH__ >= 800
  if constexpr (kStep == step::reduce_sync) return __reduce_add_sync(warp.mask, mine);
#endif
  return by_butterfly(warp, mine);
}

template <step kStep>
__global__ void each_lane(const unsigned* values, std::size_t n, unsigned* sums) {
  const std::size_t i = std::size_t{blockDim.x} * blockIdx.x + threadIdx.x;
  const unsigned sum = sum_of<kStep>(lanes(), i < n ? values[i] : 0);
  if (i < n) sums[i] = sum;
}

template <step kStep>
__global__ void add_up(const unsigned* values, std::size_t n, unsigned* total) {
  const std::size_t threads = std::size_t{gridDim.x} * blockDim.x;
  unsigned mine = 0;
  for (std::size_t i = 2 * (std::size_t{blockDim.x} * blockIdx.x + threadIdx.x); i < n;
       i += 2 * threads) {
    mine += values[i];
    if (i + 1 < n) mine += values[i + 1];
  }
  const lanes warp;
  mine = sum_of<kStep>(warp, mine);
  if (warp.lane == warp.size / 2) atomicAdd(total, mine);
}

template <step kStep>
void launch_step(const job& j) {
  if (j.total != nullptr)
    add_up<kStep><<<j.blocks, j.threads>>>(j.values, j.n, j.total);
  else
    each_lane<kStep><<<j.blocks, j.threads>>>(j.values, j.n, j.sums);
}

void (*launcher_of(step version))(const job&) {
  switch (version) {
    case step::shuffle_down:
      return launch_step<step::shuffle_down>;
    case step::butterfly:
      return launch_step<step::butterfly>;
    default:
      return launch_step<step::reduce_sync>;
  }
}

}  // namespace

std::vector<std::uint32_t> warp_sums(step version, std::span<const std::uint32_t> values,
                                     unsigned threads) {
  return host_part_of_warp_sums(launcher_of(version), values, threads);
}

result sum(step version, std::span<const std::uint32_t> values, unsigned threads) {
  return host_part_of_sum(launcher_of(version), values, threads);
}

}  // namespace lab::warp_sum
