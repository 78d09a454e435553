// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 16.4 device_scan: running sums of a whole array, by blocks that tell each other their sums.
// Edit:  this file, from TODO(1) to TODO(4); TODO(5) to TODO(8) are a bonus. device_scan.hpp says
//        what is asked for, given.hpp what you start from.
// Run:   scripts/lab run 16.4 -- --step three_launches     (then decoupled_look_back)
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

/// `words` has one for each tile, and *next is the number of the next tile. All are 0 at first.
__global__ void scan_in_one_pass(job array, tile_word* words, unsigned* next) {
  __shared__ unsigned drawn_tile, sum_before;
  // TODO(6, bonus): the block draws the number of its tile from *next, as the tickets of 15.2 are
  //          drawn. All threads must know it.
  // BEGIN SOLUTION
  // STUB: if (threadIdx.x == 0) drawn_tile = blockIdx.x;
  if (threadIdx.x == 0) drawn_tile = atomicAdd(next, 1U);
  __syncthreads();
  // END SOLUTION
  const unsigned tile = drawn_tile;
  const scanned_tile mine = scan_tile(array, tile);

  // TODO(7, bonus): the first warp publishes the total as the tile's aggregate (tile 0 has none:
  //          its total is a prefix), looks back, and publishes the prefix. A word is published by
  //          one store() of a `published`, by one lane. Then all threads need the sum before.
  // BEGIN SOLUTION
  if (threadIdx.x < kLanes) {
    const published word(words[tile]);
    if (threadIdx.x == 0 && tile > 0)
      word.store(pack(known::aggregate, mine.total), cuda::memory_order_relaxed);
    const unsigned before = look_back(words, tile);
    if (threadIdx.x == 0) {
      word.store(pack(known::prefix, before + mine.total), cuda::memory_order_relaxed);
      sum_before = before;
    }
  }
  __syncthreads();  // outside of the if: all threads read the sum
  store_tile(array, tile, mine, sum_before);
  // END SOLUTION
}

void decoupled_look_back(const job& array, unsigned tiles, unsigned threads, tile_word* words,
                         unsigned* next) {
  // TODO(8, bonus): the words and the counter are 0 before *each* launch: cudaMemsetAsync, in the
  //          default stream. Then the launch.
  // BEGIN SOLUTION
  // STUB: throw not_written("step decoupled_look_back", 5);  // 5 to 8
  CUDA_CHECK(cudaMemsetAsync(words, 0, tiles * sizeof(tile_word)));
  CUDA_CHECK(cudaMemsetAsync(next, 0, sizeof *next));
  scan_in_one_pass<<<tiles, threads>>>(array, words, next);
  // END SOLUTION
}

}  // namespace

// --- given: the host's part ----------------------------------------------------------------------

result scan(step which, kind what, std::span<const std::uint32_t> values, unsigned threads,
            unsigned late) {
  const unsigned tiles = tiles_of(values.size(), threads);
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
    kernel_ms =
        time_kernel([&] { decoupled_look_back(array, tiles, threads, words.data(), next.data()); });
  }
  return {out.to_vector(), kernel_ms};
}

}  // namespace lab::device_scan
