// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 10.3 monte_carlo_pi: the same count with one atomic for each hit, each warp, each block.
// Edit:  this file, from TODO(1) to TODO(5). monte_carlo_pi.hpp has the contract.
// Run:   scripts/lab run 10.3 -- --size 1M
// Test:  scripts/lab test 10.3
// Hints: scripts/lab hint 10.3                  Chapter: docs/10_atomics.md

#include <cuda_runtime.h>

#include "given.hpp"

namespace lab::monte_carlo_pi {
namespace {

// --- random numbers ------------------------------------------------------------------------------

__device__ std::uint64_t mix(std::uint64_t z) {
  // TODO(1): as monte_carlo_pi.hpp says.
  return z;
}

/// Number k of a seed.
__device__ std::uint64_t number(std::uint64_t seed, std::uint64_t k) {
  return mix(mix(seed) + (k + 1) * kGamma);
}

__global__ void draw_numbers(std::uint64_t seed, std::uint64_t first, std::size_t n,
                             std::uint64_t* numbers) {
  const std::size_t stride = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += stride)
    numbers[i] = number(seed, first + i);
}

/// Whether a number, as a point of the unit square, is in the quarter circle.
__device__ bool is_hit(std::uint64_t bits) {
  // TODO(2): the two coordinates, 31 bits each, and X² + Y² < 2^62. In which type?
  return false;
}

// --- given: the counter --------------------------------------------------------------------------

/// Adds to the counter with one atomic addition. The lower half of the counter counts hits, the
/// upper half these additions, so that their number can be checked. All kernels use
/// this.
__device__ void add_hits(counter* total, unsigned hits) { atomicAdd(total, (1ULL << 32) + hits); }

// --- per_hit: one atomic for each hit ------------------------------------------------------------

__global__ void per_hit(std::uint64_t points, std::uint64_t seed, counter* total) {
  // TODO(3): loop over the points in strides of the grid. Point k is number(seed, k). Add 1 for
  //          each hit.
}

// --- per_warp: count in a register, add up the lanes, one atomic for each warp -------------------
// Requires blocks of whole warps.

/// The number of hits among this thread's points. Counting them needs no other thread.
__device__ unsigned hits_of_thread(std::uint64_t points, std::uint64_t seed) {
  // TODO(4): the loop of per_hit, with a local variable.
  return 0;
}

/// The sum of what the 32 lanes of this warp contribute, for lane 0. All 32 lanes call it.
__device__ unsigned sum_of_warp(unsigned value) {
  // TODO(4): a tree without shared memory. __shfl_down_sync(kAllLanes, value, d) is the `value` of
  //          the lane d positions up. Add the value 16 positions up, then 8, 4, 2, 1.
  //          Invariant: before each level, the numbers of the first 2d lanes add up to the sum. All
  //          lanes take part in every shuffle, whether their sum is still needed or not.
  return value;
}

__global__ void per_warp(std::uint64_t points, std::uint64_t seed, counter* total) {
  // TODO(4): … and lane 0 of each warp adds its sum.
}

// --- per_block: the warps' sums are added in shared memory, one atomic for each block ------------
// Requires blocks of whole warps.

__global__ void per_block(std::uint64_t points, std::uint64_t seed, counter* total) {
  // TODO(5): lane 0 of each warp stores its sum in shared memory: a block has at most 32 warps.
  //          When all are there, the first warp adds them up, one per lane. Lanes without a warp
  //          contribute 0. One thread adds the block's sum.
  //          Every thread of the block reaches the __syncthreads().
}

void launch(step version, grid g, std::uint64_t points, std::uint64_t seed, counter* total) {
  switch (version) {
    case step::per_hit:
      throw not_written("step per_hit", 1);  // 1, 2 and 3; launch it here
    case step::per_warp:
      throw not_written("step per_warp", 4);
    case step::per_block:
      throw not_written("step per_block", 5);
  }
}

}  // namespace

// --- given: the host's part ----------------------------------------------------------------------

std::vector<std::uint64_t> draw(std::uint64_t seed, std::uint64_t first, std::size_t n) {
  device_buffer<std::uint64_t> numbers(n);
  draw_numbers<<<blocks_for(n, 256), 256>>>(seed, first, n, numbers.data());
  CUDA_CHECK(cudaGetLastError());
  return numbers.to_vector();
}

result count_hits(step version, std::uint64_t points, std::uint64_t seed, grid wanted) {
  refuse_if(points > kMostPoints, "monte_carlo_pi: ", points,
            " points were asked for, and the counter has room for ", kMostPoints);
  result out{.launched = grid_for(points, wanted)};
  if (points == 0) {
    out.launched.blocks = 0;
    return out;
  }

  device_buffer<counter> total(1);
  out.kernel_ms = time_kernel([&] { launch(version, out.launched, points, seed, total.data()); },
                              [&] { CUDA_CHECK(cudaMemset(total.data(), 0, total.size_bytes())); });
  const counter both = total.to_vector().front();
  out.hits = both & 0xFFFF'FFFF;
  out.atomics = both >> 32;
  return out;
}

}  // namespace lab::monte_carlo_pi
