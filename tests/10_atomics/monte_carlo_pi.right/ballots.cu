// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Differs from the solution: a warp takes 32 neighbouring points and counts their hits by a ballot,
// so a warp without points shares nothing; its last lane adds the count. per_block has as much
// shared memory as warps, and one thread adds up what is there.

#include <cuda_runtime.h>

#include "given.hpp"

namespace lab::monte_carlo_pi {
namespace {

// --- random numbers ------------------------------------------------------------------------------

__device__ std::uint64_t mix(std::uint64_t z) {
  z = (z ^ (z >> 30)) * kFirst;
  z = (z ^ (z >> 27)) * kSecond;
  return z ^ (z >> 31);
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
  const std::uint64_t x = bits >> 33, y = (bits & 0xFFFF'FFFF) >> 1;
  return x * x + y * y < std::uint64_t{1} << 62;
}

// --- given: the counter --------------------------------------------------------------------------

/// Adds to the counter with one atomic addition. The lower half of the counter counts hits, the
/// upper half these additions, so that their number can be checked. All kernels use
/// this.
__device__ void add_hits(counter* total, unsigned hits) { atomicAdd(total, (1ULL << 32) + hits); }

// --- per_hit: one atomic for each hit ------------------------------------------------------------

__global__ void per_hit(std::uint64_t points, std::uint64_t seed, counter* total) {
  const std::uint64_t stride = std::uint64_t{gridDim.x} * blockDim.x;
  for (std::uint64_t k = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x; k < points;
       k += stride)
    if (is_hit(number(seed, k))) add_hits(total, 1);
}

// --- per_warp: count in a register, add up the lanes, one atomic for each warp -------------------
// Requires blocks of whole warps.

/// The number of hits of this warp, in all of its lanes. A warp takes 32 points in a row.
__device__ unsigned hits_of_warp(std::uint64_t points, std::uint64_t seed) {
  unsigned hits = 0;
  const std::uint64_t warps = std::uint64_t{gridDim.x} * (blockDim.x / kLanes);
  const std::uint64_t warp =
      std::uint64_t{blockIdx.x} * (blockDim.x / kLanes) + threadIdx.x / kLanes;
  for (std::uint64_t first = warp * kLanes; first < points; first += warps * kLanes) {
    const std::uint64_t k = first + threadIdx.x % kLanes;
    hits += __popc(__ballot_sync(kAllLanes, k < points && is_hit(number(seed, k))));
  }
  return hits;
}

__global__ void per_warp(std::uint64_t points, std::uint64_t seed, counter* total) {
  const unsigned sum = hits_of_warp(points, seed);
  if (threadIdx.x % kLanes == kLanes - 1) add_hits(total, sum);
}

// --- per_block: the warps' sums are added in shared memory, one atomic for each block ------------
// Requires blocks of whole warps.

__global__ void per_block(std::uint64_t points, std::uint64_t seed, counter* total) {
  extern __shared__ unsigned of_warps[];  // one for each warp
  const unsigned sum = hits_of_warp(points, seed);
  if (threadIdx.x % kLanes == 0) of_warps[threadIdx.x / kLanes] = sum;
  __syncthreads();
  if (threadIdx.x != 0) return;
  unsigned all = 0;
  for (unsigned i = 0; i < blockDim.x / kLanes; ++i) all += of_warps[i];
  add_hits(total, all);
}

void launch(step version, grid g, std::uint64_t points, std::uint64_t seed, counter* total) {
  switch (version) {
    case step::per_hit:
      per_hit<<<g.blocks, g.threads>>>(points, seed, total);
      break;
    case step::per_warp:
      per_warp<<<g.blocks, g.threads>>>(points, seed, total);
      break;
    case step::per_block:
      per_block<<<g.blocks, g.threads, g.threads / kLanes * sizeof(unsigned)>>>(points, seed,
                                                                                total);
      break;
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
