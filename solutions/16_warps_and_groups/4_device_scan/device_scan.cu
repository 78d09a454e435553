// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 16.4 device_scan: running sums of a whole array, by blocks that tell each other their sums.
// Edit:  this file, from TODO(1) to TODO(4); TODO(5) to TODO(11) are a bonus. device_scan.hpp says
//        what is asked for, given.hpp what you start from.
// Run:   scripts/lab run 16.4 -- --step three_launches     (then decoupled_look_back, vectorized)
// Test:  scripts/lab test 16.4, and scripts/lab check 16.4: what luck hides, the checks find
// Hints: scripts/lab hint 16.4                  Chapter: docs/16_warps_and_groups.md

#include <cuda_runtime.h>

#include "given.hpp"

namespace lab::device_scan {
namespace {

// --- three_launches ------------------------------------------------------------------------------

/// totals[t]: the sum of tile t. Block t scans it, as if nothing came before.
__global__ void scan_tiles(job array, unsigned* totals) {
  // TODO(1): scan_tile() and store_tile() of given.hpp do most of it. One thread stores the total.
  // BEGIN SOLUTION
  const unsigned tile = blockIdx.x;
  const scanned_tile mine = scan_tile(array, tile);
  store_tile(array, tile, mine, 0);
  if (threadIdx.x == 0) totals[tile] = mine.total;
  // END SOLUTION
}

/// Replaces the totals by the sums of all totals before each of them. `totals` is a job whose
/// values and results are the same memory. One block does it, however many there are.
__global__ void scan_totals(job totals) {
  // TODO(2): one tile of the totals after the other, as in the rows of 16.3.
  //          Invariant: before each tile, `before` is the sum of all totals before it.
  // BEGIN SOLUTION
  const std::size_t of_tile = std::size_t{kRounds} * blockDim.x;
  unsigned before = 0;
  for (std::size_t tile = 0; tile * of_tile < totals.n; ++tile) {  // the same for all threads
    const scanned_tile mine = scan_tile(totals, tile);
    store_tile(totals, tile, mine, before);
    before += mine.total;
  }
  // END SOLUTION
}

/// Adds to the elements of tile t the sum of the tiles before it: before[t].
__global__ void add_totals(job array, const unsigned* before) {
  // TODO(3): this thread's kRounds elements of tile number blockIdx.x: first_element(), and on in
  //          steps of kLanes. In the last tile, some may be beyond the end.
  // BEGIN SOLUTION
  const std::size_t first = first_element(blockIdx.x);
  for (unsigned r = 0; r < kRounds; ++r) {
    const std::size_t i = first + r * kLanes;
    if (i < array.n) array.out[i] += before[blockIdx.x];
  }
  // END SOLUTION
}

void three_launches(const job& array, unsigned tiles, unsigned threads, unsigned* totals) {
  // TODO(4): launch the three of them. Which blocks does each need, and which job the second?
  // BEGIN SOLUTION
  // STUB: throw not_written("step three_launches", 1);  // 1 to 4
  scan_tiles<<<tiles, threads>>>(array, totals);
  scan_totals<<<1, kMostThreads>>>({totals, totals, tiles, kind::exclusive});
  add_totals<<<tiles, threads>>>(array, totals);
  // END SOLUTION
}

// --- decoupled_look_back -------------------------------------------------------------------------
// Requires that a block waits only for blocks that have already begun.

/// The sum of all tiles before this one. All lanes of one warp call it together.
__device__ unsigned look_back(tile_word* words, unsigned tile) {
  unsigned before = 0;
  // TODO(5, bonus): look at the 32 tiles before this one, one per lane; then at the 32 before
  //          those, and so on. A lane reads its tile's word until something is known of that tile;
  //          before tile 0 there is a prefix of 0. The lanes vote (__ballot_sync) who has seen a
  //          prefix. From the nearest tile with a prefix on, all tiles count, and none before it.
  //          Invariant: `before` is the sum of the tiles from `nearest` + 1 to `tile` - 1.
  // BEGIN SOLUTION
  const int lane = static_cast<int>(threadIdx.x % kLanes);
  for (int nearest = static_cast<int>(tile) - 1;; nearest -= static_cast<int>(kLanes)) {
    tile_word seen = pack(known::prefix, 0);
    if (nearest >= lane) {
      const published word(words[nearest - lane]);
      seen = word.load(cuda::memory_order_relaxed);
      while (state_in(seen) == known::nothing) {
        __nanosleep(20);
        seen = word.load(cuda::memory_order_relaxed);
      }
    }
    const unsigned prefixes = __ballot_sync(kAllLanes, state_in(seen) == known::prefix);
    const int last = prefixes != 0 ? __ffs(static_cast<int>(prefixes)) - 1 : 31;
    before += sum_of_warp(lane <= last ? sum_in(seen) : 0);
    if (prefixes != 0) break;  // the same for all lanes
  }
  // END SOLUTION
  return before;
}

/// The number of the block's tile, for all of its threads. *next is the number of the next tile.
__device__ unsigned draw_tile(unsigned* next) {
  __shared__ unsigned drawn_tile;
  // TODO(6, bonus): the block draws it from *next, as the tickets of 15.2 are drawn. All threads
  //          must know it.
  // BEGIN SOLUTION
  // STUB: if (threadIdx.x == 0) drawn_tile = blockIdx.x;
  if (threadIdx.x == 0) drawn_tile = atomicAdd(next, 1U);
  __syncthreads();
  // END SOLUTION
  return drawn_tile;
}

/// Publishes what becomes known of the tile, whose sum is `total`. Returns to all threads of the
/// block the sum of the tiles before it. `words` has one for each tile.
__device__ unsigned publish_and_look_back(tile_word* words, unsigned tile, unsigned total) {
  __shared__ unsigned sum_before;
  // TODO(7, bonus): the first warp publishes the total as the tile's aggregate (tile 0 has none:
  //          its total is a prefix), looks back, and publishes the prefix. A word is published by
  //          one store() of a `published`, by one lane. Then all threads need the sum before.
  // BEGIN SOLUTION
  // STUB: if (threadIdx.x == 0) sum_before = 0;
  if (threadIdx.x < kLanes) {
    const published word(words[tile]);
    if (threadIdx.x == 0 && tile > 0)
      word.store(pack(known::aggregate, total), cuda::memory_order_relaxed);
    const unsigned before = look_back(words, tile);
    if (threadIdx.x == 0) {
      word.store(pack(known::prefix, before + total), cuda::memory_order_relaxed);
      sum_before = before;
    }
  }
  __syncthreads();  // outside of the if: all threads read the sum
  // END SOLUTION
  return sum_before;
}

/// The words and the counter are 0 at first.
__global__ void scan_in_one_pass(job array, tile_word* words, unsigned* next) {
  const unsigned tile = draw_tile(next);
  const scanned_tile mine = scan_tile(array, tile);
  store_tile(array, tile, mine, publish_and_look_back(words, tile, mine.total));
}

/// Brings words and counter to 0, in the default stream.
void reset(tile_word* words, unsigned tiles, unsigned* next) {
  // TODO(8, bonus): cudaMemsetAsync, and in decoupled_look_back() what comes before *each* launch,
  //          and the launch.
  // BEGIN SOLUTION
  CUDA_CHECK(cudaMemsetAsync(words, 0, tiles * sizeof(tile_word)));
  CUDA_CHECK(cudaMemsetAsync(next, 0, sizeof *next));
  // END SOLUTION
}

void decoupled_look_back(const job& array, unsigned tiles, unsigned threads, tile_word* words,
                         unsigned* next) {
  // BEGIN SOLUTION
  // STUB: throw not_written("step decoupled_look_back", 5);  // 5 to 8
  reset(words, tiles, next);
  scan_in_one_pass<<<tiles, threads>>>(array, words, next);
  // END SOLUTION
}

// --- vectorized ----------------------------------------------------------------------------------
// Changes what a thread has of a tile: fours of neighbours, which it adds up without its warp.
// Requires an array that begins at a multiple of 16 bytes, as the memory of cudaMalloc does.

/// The elements i to i + 3, where i is a multiple of 4. Those beyond the end count as 0.
__device__ uint4 load_four(const job& array, std::size_t i) {
  // TODO(9, bonus): one load of 16 bytes, but nothing is read beyond the end of the array.
  // BEGIN SOLUTION
  // STUB: return uint4{};
  if (i + 4 <= array.n) return *reinterpret_cast<const uint4*>(array.values + i);
  const auto at = [&](std::size_t k) { return k < array.n ? array.values[k] : 0; };
  return {at(i), at(i + 1), at(i + 2), 0};
  // END SOLUTION
}

/// Stores what load_four() loads.
__device__ void store_four(const job& array, std::size_t i, uint4 four) {
  // TODO(10, bonus): the same for a store.
  // BEGIN SOLUTION
  if (i + 4 <= array.n) {
    *reinterpret_cast<uint4*>(array.out + i) = four;
  } else {
    if (i < array.n) array.out[i] = four.x;
    if (i + 1 < array.n) array.out[i + 1] = four.y;
    if (i + 2 < array.n) array.out[i + 2] = four.z;
  }
  // END SOLUTION
}

/// What scan_tile() does, for fours.
__device__ scanned_fours scan_fours(const job& array, std::size_t tile) {
  pause_if_late(array, tile);
  scanned_fours mine{};
  const std::size_t first = first_of_fours(tile);
#pragma unroll
  for (unsigned r = 0; r < kFours; ++r) mine.sums[r] = load_four(array, first + 4 * r * kLanes);
  // TODO(11, bonus): replace each four by its sums, of the job's kind, with what comes before it in
  //          the tile. One scan_warp() for each four of a lane, and one scan_warps() for all.
  // BEGIN SOLUTION
  unsigned of_warp = 0;
#pragma unroll
  for (unsigned r = 0; r < kFours; ++r) {
    uint4& four = mine.sums[r];
    const unsigned x = four.x, xy = x + four.y, xyz = xy + four.z, all = xyz + four.w;
    four = array.what == kind::inclusive ? uint4{x, xy, xyz, all} : uint4{0, x, xy, xyz};
    const unsigned sum = scan_warp(all);
    four = plus(four, of_warp + sum - all);
    of_warp += __shfl_sync(kAllLanes, sum, kLanes - 1);
  }
  const auto [before, total] = scan_warps(of_warp);
#pragma unroll
  for (unsigned r = 0; r < kFours; ++r) mine.sums[r] = plus(mine.sums[r], before);
  mine.total = total;
  // END SOLUTION
  return mine;
}

/// scan_in_one_pass for fours. (Without its bound, it might get too many registers for a block of
/// 1024 threads.)
__global__ void __launch_bounds__(kMostThreads)
    scan_fours_in_one_pass(job array, tile_word* words, unsigned* next) {
  const unsigned tile = draw_tile(next);
  const scanned_fours mine = scan_fours(array, tile);
  const unsigned before = publish_and_look_back(words, tile, mine.total);
  const std::size_t first = first_of_fours(tile);
#pragma unroll
  for (unsigned r = 0; r < kFours; ++r)
    store_four(array, first + 4 * r * kLanes, plus(mine.sums[r], before));
}

void vectorized(const job& array, unsigned tiles, unsigned threads, tile_word* words,
                unsigned* next) {
  // BEGIN SOLUTION
  // STUB: throw not_written("step vectorized", 9);  // 9 to 11, and here as above
  reset(words, tiles, next);
  scan_fours_in_one_pass<<<tiles, threads>>>(array, words, next);
  // END SOLUTION
}

}  // namespace

// --- given: the host's part ----------------------------------------------------------------------

result scan(step which, kind what, std::span<const std::uint32_t> values, unsigned threads,
            unsigned late) {
  const unsigned tiles = tiles_of(which, values.size(), threads);
  if (tiles == 0) return {};
  const device_buffer device_values(values);
  device_buffer<unsigned> out(values.size());
  const job array{device_values.data(), out.data(), values.size(), what, late};
  float kernel_ms = 0;
  if (which == step::three_launches) {
    device_buffer<unsigned> totals(tiles);
    kernel_ms = time_kernel([&] { three_launches(array, tiles, threads, totals.data()); });
  } else {
    device_buffer<tile_word> words(tiles);
    device_buffer<unsigned> next(1);
    const auto in_one_launch = which == step::vectorized ? vectorized : decoupled_look_back;
    kernel_ms =
        time_kernel([&] { in_one_launch(array, tiles, threads, words.data(), next.data()); });
  }
  return {out.to_vector(), kernel_ms};
}

}  // namespace lab::device_scan
