// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 16.1 warp_sum: the lanes of a warp add up their values, without shared memory.
// Edit:  this file, from TODO(1) to TODO(5). warp_sum.hpp has the contract.
// Run:   scripts/lab run 16.1 -- --step shuffle_down     (then butterfly, reduce_sync)
// Test:  scripts/lab test 16.1
// Hints: scripts/lab hint 16.1                  Chapter: docs/16_warps_and_groups.md

#include <cuda_runtime.h>

#include "given.hpp"

namespace lab::warp_sum {
namespace {

/// The lanes of this thread's warp, as a mask: bit i is set if the block has a thread in lane i.
__device__ unsigned lanes_of_warp() {
  // TODO(1): all 32, unless this is the last warp of a block that is not a multiple of 32 threads.
  //          For 40 threads: kAllLanes in the first warp, 0xFF in the second one.
  //          Invariant: all lanes of the warp return the same mask, and each lane's bit is in it.
  // BEGIN SOLUTION
  // STUB: return kAllLanes;
  const unsigned left = blockDim.x - threadIdx.x / kLanes * kLanes;  // threads from this warp on
  return kAllLanes >> (kLanes - min(left, kLanes));  // a shift by 32 would be undefined
  // END SOLUTION
}

// --- the sum of a warp, in three ways ------------------------------------------------------------
// Each returns, in every lane, the sum of the values that the lanes of the warp pass. All lanes of
// the warp call it together, with the mask of lanes_of_warp().

__device__ unsigned sum_by_shuffle_down(unsigned lanes, unsigned mine) {
  // TODO(2): the tree of 10.3: add the value of the lane 16 positions up, then 8, 4, 2, 1. The
  //          value of a lane outside the mask is undefined: do not add it. Every lane of the mask
  //          takes part in every shuffle. Finally all lanes read lane 0 (__shfl_sync).
  // BEGIN SOLUTION
  // STUB: return mine;
  const unsigned lane = threadIdx.x % kLanes;
  for (unsigned d = kLanes / 2; d > 0; d /= 2) {
    const unsigned theirs = __shfl_down_sync(lanes, mine, d);
    if ((lanes >> lane >> d & 1) != 0) mine += theirs;  // two shifts: lane + d may be 32 or more
  }
  return __shfl_sync(lanes, mine, 0);
  // END SOLUTION
}

__device__ unsigned sum_by_butterfly(unsigned lanes, unsigned mine) {
  // TODO(4): lanes whose numbers differ in one bit exchange their values (__shfl_xor_sync), and
  //          both add: first bit 16, then 8, 4, 2, 1.
  //          Invariant of a full warp: after bit d, all lanes that agree in the bits below d have
  //          the same sum, that of their values. So in the end all have the sum of all.
  //          In a warp with fewer lanes, some partners are missing. Which lane still has the right
  //          sum? It passes the sum on to the others.
  // BEGIN SOLUTION
  // STUB: return mine;
  const unsigned lane = threadIdx.x % kLanes;
  for (unsigned d = kLanes / 2; d > 0; d /= 2) {
    const unsigned theirs = __shfl_xor_sync(lanes, mine, static_cast<int>(d));
    if ((lanes >> (lane ^ d) & 1) != 0) mine += theirs;
  }
  // The same condition for all lanes of the warp: either all of them take part, or none.
  return lanes == kAllLanes ? mine : __shfl_sync(lanes, mine, 0);
  // END SOLUTION
}

// GPUs have the instruction since compute capability 8.0. __CUDA_ARCH__ says which kind of GPU this
// is being compiled for: 800 means 8.0. For the CPU device it is 900, so there TODO(5) runs.
__device__ unsigned sum_by_instruction(unsigned lanes, unsigned mine) {
#if __CUDA_ARCH__ >= 800
  // TODO(5): one call of __reduce_add_sync.
  // BEGIN SOLUTION
  // STUB: return mine;
  return __reduce_add_sync(lanes, mine);
  // END SOLUTION
#else
  return sum_by_butterfly(lanes, mine);  // for older GPUs
#endif
}

template <step kStep>
__device__ unsigned sum_of_warp(unsigned lanes, unsigned mine) {
  if constexpr (kStep == step::shuffle_down) return sum_by_shuffle_down(lanes, mine);
  if constexpr (kStep == step::butterfly) return sum_by_butterfly(lanes, mine);
  if constexpr (kStep == step::reduce_sync) return sum_by_instruction(lanes, mine);
}

/// One value per thread. sums[i]: the sum of thread i's warp, as thread i has it.
template <step kStep>
__global__ void each_lane(const unsigned* values, std::size_t n, unsigned* sums) {
  // TODO(3): a thread without a value contributes 0. May it return before sum_of_warp()?
  // BEGIN SOLUTION
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  const unsigned value = i < n ? values[i] : 0;
  const unsigned sum =
      sum_of_warp<kStep>(lanes_of_warp(), value);  // every lane of the mask takes part
  if (i < n) sums[i] = sum;
  // END SOLUTION
}

/// *total += the sum of all values.
template <step kStep>
__global__ void add_up(const unsigned* values, std::size_t n, unsigned* total) {
  // TODO(3): the sum of the results of sum_of_thread(values, n) in this warp. All lanes have it.
  //          How many of them may add it to *total?
  // BEGIN SOLUTION
  const unsigned sum = sum_of_warp<kStep>(lanes_of_warp(), sum_of_thread(values, n));
  if (threadIdx.x % kLanes == 0) atomicAdd(total, sum);
  // END SOLUTION
}

template <step kStep>
void launch(const job& j) {
  // TODO(3): launch each_lane if the job has memory for the lanes' sums (j.sums), else add_up.
  // BEGIN SOLUTION
  if (j.sums != nullptr)
    each_lane<kStep><<<j.blocks, j.threads>>>(j.values, j.n, j.sums);
  else
    add_up<kStep><<<j.blocks, j.threads>>>(j.values, j.n, j.total);
  // END SOLUTION
}

void launch(step version, const job& j) {
  // When a step is written, launch it here: launch<step::shuffle_down>(j), and so on.
  // BEGIN SOLUTION
  // STUB: if (version == step::shuffle_down) throw not_written("step shuffle_down", 1);  // 1 to 3
  // STUB: if (version == step::butterfly) throw not_written("step butterfly", 4);
  // STUB: if (version == step::reduce_sync) throw not_written("step reduce_sync", 5);
  if (version == step::shuffle_down) launch<step::shuffle_down>(j);
  if (version == step::butterfly) launch<step::butterfly>(j);
  if (version == step::reduce_sync) launch<step::reduce_sync>(j);
  // END SOLUTION
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
