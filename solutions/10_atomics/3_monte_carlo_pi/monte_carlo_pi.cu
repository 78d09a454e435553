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
  // BEGIN SOLUTION
  // STUB: return z;
  z = (z ^ (z >> 30)) * kFirst;
  z = (z ^ (z >> 27)) * kSecond;
  return z ^ (z >> 31);
  // END SOLUTION
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
  // BEGIN SOLUTION
  // STUB: return false;
  const std::uint64_t x = bits >> 33, y = (bits & 0xFFFF'FFFF) >> 1;
  return x * x + y * y < std::uint64_t{1} << 62;
  // END SOLUTION
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
  // BEGIN SOLUTION
  const std::uint64_t stride = std::uint64_t{gridDim.x} * blockDim.x;
  for (std::uint64_t k = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; k < points;
       k += stride)
    if (is_hit(number(seed, k))) add_hits(total, 1);
  // END SOLUTION
}

// --- per_warp: count in a register, add up the lanes, one atomic for each warp -------------------
// Requires blocks of whole warps.

/// The number of hits among this thread's points. Counting them needs no other thread.
__device__ unsigned hits_of_thread(std::uint64_t points, std::uint64_t seed) {
  // TODO(4): the loop of per_hit, with a local variable.
  // BEGIN SOLUTION
  // STUB: return 0;
  unsigned hits = 0;
  const std::uint64_t stride = std::uint64_t{gridDim.x} * blockDim.x;
  for (std::uint64_t k = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; k < points;
       k += stride)
    if (is_hit(number(seed, k))) ++hits;
  return hits;
  // END SOLUTION
}

/// The sum of what the 32 lanes of this warp contribute, for lane 0. All 32 lanes call it.
__device__ unsigned sum_of_warp(unsigned value) {
  // TODO(4): a tree without shared memory. __shfl_down_sync(kAllLanes, value, d) is the `value` of
  //          the lane d positions up. Add the value 16 positions up, then 8, 4, 2, 1.
  //          Invariant: before each level, the numbers of the first 2d lanes add up to the sum. All
  //          lanes take part in every shuffle, whether their sum is still needed or not.
  // BEGIN SOLUTION
  // STUB: return value;
  for (unsigned d = kLanes / 2; d > 0; d /= 2) value += __shfl_down_sync(kAllLanes, value, d);
  return value;
  // END SOLUTION
}

__global__ void per_warp(std::uint64_t points, std::uint64_t seed, counter* total) {
  // TODO(4): … and lane 0 of each warp adds its sum.
  // BEGIN SOLUTION
  const unsigned sum = sum_of_warp(hits_of_thread(points, seed));
  if (threadIdx.x % kLanes == 0) add_hits(total, sum);
  // END SOLUTION
}

// --- per_block: the warps' sums are added in shared memory, one atomic for each block ------------
// Requires blocks of whole warps.

__global__ void per_block(std::uint64_t points, std::uint64_t seed, counter* total) {
  // TODO(5): lane 0 of each warp stores its sum in shared memory: a block has at most 32 warps.
  //          When all are there, the first warp adds them up, one per lane. Lanes without a warp
  //          contribute 0. One thread adds the block's sum.
  //          Every thread of the block reaches the __syncthreads().
  // BEGIN SOLUTION
  __shared__ unsigned sum_of[kLanes];  // one for each warp of this block
  const unsigned lane = threadIdx.x % kLanes, warp = threadIdx.x / kLanes;
  const unsigned sum = sum_of_warp(hits_of_thread(points, seed));
  if (lane == 0) sum_of[warp] = sum;
  __syncthreads();  // the sums of all warps are complete

  if (warp == 0) {  // no barrier after this: the other warps have nothing more to do
    const unsigned block_sum = sum_of_warp(lane < blockDim.x / kLanes ? sum_of[lane] : 0);
    if (lane == 0) add_hits(total, block_sum);
  }
  // END SOLUTION
}

void launch(step version, grid g, std::uint64_t points, std::uint64_t seed, counter* total) {
  switch (version) {
    // BEGIN SOLUTION
    // STUB: case step::per_hit:
    // STUB:   throw not_written("step per_hit", 1);  // 1, 2 and 3; launch it here
    // STUB: case step::per_warp:
    // STUB:   throw not_written("step per_warp", 4);
    // STUB: case step::per_block:
    // STUB:   throw not_written("step per_block", 5);
    case step::per_hit:
      per_hit<<<g.blocks, g.threads>>>(points, seed, total);
      break;
    case step::per_warp:
      per_warp<<<g.blocks, g.threads>>>(points, seed, total);
      break;
    case step::per_block:
      per_block<<<g.blocks, g.threads>>>(points, seed, total);
      break;
      // END SOLUTION
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
