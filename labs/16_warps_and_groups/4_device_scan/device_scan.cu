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
}

/// Replaces the totals by the sums of all totals before each of them. `totals` is a job whose
/// values and results are the same memory. One block does it, however many there are.
__global__ void scan_totals(job totals) {
  // TODO(2): one tile of the totals after the other, as in the rows of 16.3.
  //          Invariant: before each tile, `before` is the sum of all totals before it.
}

/// Adds to the elements of tile t the sum of the tiles before it: before[t].
__global__ void add_totals(job array, const unsigned* before) {
  // TODO(3): this thread's kRounds elements of tile number blockIdx.x: first_element(), and on in
  //          steps of kLanes. In the last tile, some may be beyond the end.
}

void three_launches(const job& array, unsigned tiles, unsigned threads, unsigned* totals) {
  // TODO(4): launch the three of them. Which blocks does each need, and which job the second?
  throw not_written("step three_launches", 1);  // 1 to 4
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
  return before;
}

/// `words` has one for each tile, and *next is the number of the next tile. All are 0 at first.
__global__ void scan_in_one_pass(job array, tile_word* words, unsigned* next) {
  __shared__ unsigned drawn_tile, sum_before;
  // TODO(6, bonus): the block draws the number of its tile from *next, as the tickets of 15.2 are
  //          drawn. All threads must know it.
  if (threadIdx.x == 0) drawn_tile = blockIdx.x;
  const unsigned tile = drawn_tile;
  const scanned_tile mine = scan_tile(array, tile);

  // TODO(7, bonus): the first warp publishes the total as the tile's aggregate (tile 0 has none:
  //          its total is a prefix), looks back, and publishes the prefix. A word is published by
  //          one store() of a `published`, by one lane. Then all threads need the sum before.
}

void decoupled_look_back(const job& array, unsigned tiles, unsigned threads, tile_word* words,
                         unsigned* next) {
  // TODO(8, bonus): the words and the counter are 0 before *each* launch: cudaMemsetAsync, in the
  //          default stream. Then the launch.
  throw not_written("step decoupled_look_back", 5);  // 5 to 8
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
