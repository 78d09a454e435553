// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 16.4 device_scan: prefix sums of a whole array, by blocks that publish their sums.
// Edit:  this file, from TODO(1) to TODO(4); TODO(5) to TODO(12) are a bonus. device_scan.hpp has
//        the contract, given.hpp the code to start from.
// Run:   scripts/lab run 16.4 -- --step three_launches     (then decoupled_look_back, vectorized)
// Test:  scripts/lab test 16.4, and scripts/lab check 16.4: what luck hides, the checks find
// Hints: scripts/lab hint 16.4                  Chapter: docs/16_warps_and_groups.md

#include <cuda_runtime.h>

#include "given.hpp"

namespace lab::device_scan {
namespace {

// --- three_launches ------------------------------------------------------------------------------

/// totals[t]: the sum of tile t. Block t scans tile t as if nothing came before it.
__global__ void scan_tiles(job array, unsigned* totals) {
  // TODO(1): scan_tile() and store_tile() of given.hpp do most of it. One thread stores the total.
  // BEGIN SOLUTION
  const unsigned tile = blockIdx.x;
  const scanned_tile mine = scan_tile(array, tile);
  store_tile(array, tile, mine, 0);
  if (threadIdx.x == 0) totals[tile] = mine.total;
  // END SOLUTION
}

/// Replaces each total with the sum of all totals before it. `totals` is a job whose
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
  // TODO(3): this thread's kRounds elements of tile number blockIdx.x: from first_element() in
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
  // TODO(4): launch all three. How many blocks does each need, and which job does the second?
  // BEGIN SOLUTION
  // STUB: throw not_written("step three_launches", 1);  // 1 to 4
  scan_tiles<<<tiles, threads>>>(array, totals);
  scan_totals<<<1, kMostThreads>>>({totals, totals, tiles, kind::exclusive});
  add_totals<<<tiles, threads>>>(array, totals);
  // END SOLUTION
}

// --- decoupled_look_back -------------------------------------------------------------------------
// Requires that a block waits only for blocks that have already started.

/// The sum of all tiles before this one. All lanes of one warp call it together.
__device__ unsigned look_back(tile_word* words, unsigned tile) {
  unsigned before = 0;
  // TODO(5, bonus): look at the 32 tiles before this one, one per lane; then at the 32 before
  //          those, and so on. A lane reads its tile's word until it says something; before tile 0
  //          there is a prefix of 0. The lanes vote (__ballot_sync) whether they have a prefix.
  //          From the nearest tile with a prefix on, all tiles count, none before it.
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
__device__ unsigned draw_tile(tile_word* next) {
  __shared__ unsigned drawn_tile;
  // TODO(6, bonus): the block takes it from *next, like a ticket of 15.2. All threads must know
  //          it.
  // BEGIN SOLUTION
  // STUB: if (threadIdx.x == 0) drawn_tile = blockIdx.x;
  if (threadIdx.x == 0) drawn_tile = static_cast<unsigned>(atomicAdd(next, 1ULL));
  __syncthreads();
  // END SOLUTION
  return drawn_tile;
}

/// Publishes what is known about the tile, whose sum is `total`. Returns to all threads of the
/// block the sum of the tiles before it. `words` has one for each tile.
__device__ unsigned publish_and_look_back(tile_word* words, unsigned tile, unsigned total) {
  __shared__ unsigned sum_before;
  // TODO(7, bonus): the first warp publishes the total as the tile's aggregate (tile 0 has none:
  //          its total is a prefix), looks back, and publishes the prefix. A word is published by
  //          one store() of a `published`, by one lane. Then all threads need the earlier sum.
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
  __syncthreads();  // outside the if: all threads read the sum
  // END SOLUTION
  return sum_before;
}

/// `words` has one for each tile, followed by the number of the next tile. All are 0 at first.
__global__ void scan_in_one_pass(job array, tile_word* words) {
  const unsigned tile = draw_tile(&words[gridDim.x]);
  const scanned_tile mine = scan_tile(array, tile);
  store_tile(array, tile, mine, publish_and_look_back(words, tile, mine.total));
}

void decoupled_look_back(const job& array, unsigned tiles, unsigned threads, tile_word* words) {
  // TODO(8, bonus): all words, including the one after those of the tiles, are 0 before *each*
  //          launch: cudaMemsetAsync, in the default stream. Then the launch.
  // BEGIN SOLUTION
  // STUB: throw not_written("step decoupled_look_back", 5);  // 5 to 8
  CUDA_CHECK(cudaMemsetAsync(words, 0, (tiles + 1) * sizeof(tile_word)));
  scan_in_one_pass<<<tiles, threads>>>(array, words);
  // END SOLUTION
}

// --- vectorized ----------------------------------------------------------------------------------
// Changes which elements of a tile a thread has: a row of 44 neighbours. Requires an array that
// begins at a multiple of 16 bytes, as memory from cudaMalloc does.

/// Loads the warp's part of the array: this thread's row goes to `mine`. For the exchange, the warp
/// has shared memory for its 32 rows.
__device__ void load_row(const part& of_warp, uint4* rows, uint4 (&mine)[kFours]) {
  const unsigned lane = threadIdx.x % kLanes;
  // TODO(9, bonus): round r loads uint4 number r * 32 + lane, so that the lanes load neighbours:
  //          load_four() of given.hpp. All loads come first, into `mine`. Then the uint4 go to the
  //          warp's rows, one row after the other, and each lane reads its own row.
  // BEGIN SOLUTION
#pragma unroll
  for (unsigned r = 0; r < kFours; ++r) mine[r] = load_four(of_warp, r * kLanes + lane);
#pragma unroll
  for (unsigned r = 0; r < kFours; ++r) rows[r * kLanes + lane] = mine[r];
  __syncwarp();  // a row has elements that other lanes have loaded
#pragma unroll
  for (unsigned f = 0; f < kFours; ++f) mine[f] = rows[lane * kFours + f];
  // END SOLUTION
}

/// Replaces the elements of this thread's row with their prefix sums of kind `mode`, as if nothing
/// came before the row. Returns the sum before it in the tile, and the tile's sum.
__device__ of_tile scan_row(kind mode, uint4 (&mine)[kFours]) {
  // TODO(10, bonus): add up the row, element by element. Then one scan_warp() and one
  //          scan_warps() are enough for the whole row.
  //          Invariant: `of_row` is the sum of the row's elements before mine[f].
  // BEGIN SOLUTION
  // STUB: return {0, mine[0].x};
  unsigned of_row = 0;
#pragma unroll
  for (unsigned f = 0; f < kFours; ++f) {
    const uint4 four = mine[f];
    const unsigned x = of_row + four.x, y = x + four.y, z = y + four.z, w = z + four.w;
    mine[f] = mode == kind::inclusive ? uint4{x, y, z, w} : uint4{of_row, x, y, z};
    of_row = w;
  }
  const unsigned rows_to_mine = scan_warp(of_row);
  const auto [before, total] = scan_warps(__shfl_sync(kAllLanes, rows_to_mine, kLanes - 1));
  return {before + rows_to_mine - of_row, total};
  // END SOLUTION
}

/// Stores the row of load_row(), with `before` added: the sum of everything before the row.
__device__ void store_row(const part& of_warp, uint4* rows, const uint4 (&mine)[kFours],
                          unsigned before) {
  const unsigned lane = threadIdx.x % kLanes;
  // TODO(11, bonus): the same in reverse: the row to shared memory, and the same uint4 in each
  //          round to the array, with store_four() of given.hpp.
  // BEGIN SOLUTION
#pragma unroll
  for (unsigned f = 0; f < kFours; ++f) rows[lane * kFours + f] = plus(mine[f], before);
  __syncwarp();  // all rows are complete
#pragma unroll
  for (unsigned r = 0; r < kFours; ++r)
    store_four(of_warp, r * kLanes + lane, rows[r * kLanes + lane]);
  // END SOLUTION
}

/// Like scan_in_one_pass. The launch sets the size of shared memory: a row for each thread.
__global__ void __launch_bounds__(kMostThreads) scan_rows_in_one_pass(job array, tile_word* words) {
  extern __shared__ uint4 rows_of_block[];
  uint4* rows = &rows_of_block[threadIdx.x / kLanes * kLanes * kFours];
  uint4 mine[kFours];
  const unsigned tile = draw_tile(&words[gridDim.x]);
  pause_if_late(array, tile);
  const part of_warp = part_of_warp(array, tile);
  load_row(of_warp, rows, mine);
  const auto [before, total] = scan_row(array.mode, mine);
  store_row(of_warp, rows, mine, before + publish_and_look_back(words, tile, total));
}

void vectorized(const job& array, unsigned tiles, unsigned threads, tile_word* words) {
  const std::size_t shared_bytes = threads * kFours * sizeof(uint4);
  CUDA_CHECK(cudaFuncSetAttribute(scan_rows_in_one_pass,
                                  cudaFuncAttributeMaxDynamicSharedMemorySize,
                                  static_cast<int>(shared_bytes)));
  // TODO(12, bonus): as above, with `shared_bytes` of dynamic shared memory for each block.
  // BEGIN SOLUTION
  // STUB: throw not_written("step vectorized", 9);  // 9 to 12
  CUDA_CHECK(cudaMemsetAsync(words, 0, (tiles + 1) * sizeof(tile_word)));
  scan_rows_in_one_pass<<<tiles, threads, shared_bytes>>>(array, words);
  // END SOLUTION
}

}  // namespace

// --- given: the host's part ----------------------------------------------------------------------

result scan(step version, kind mode, std::span<const std::uint32_t> values, unsigned threads,
            unsigned late) {
  const unsigned tiles = tiles_of(version, values.size(), threads);
  if (tiles == 0) return {};
  const device_buffer device_values(values);
  device_buffer<unsigned> out(values.size());
  const job array{device_values.data(), out.data(), values.size(), mode, late};
  float kernel_ms = 0;
  if (version == step::three_launches) {
    device_buffer<unsigned> totals(tiles);
    kernel_ms = time_kernel([&] { three_launches(array, tiles, threads, totals.data()); });
  } else {
    device_buffer<tile_word> words(tiles + 1);
    const auto in_one_launch = version == step::vectorized ? vectorized : decoupled_look_back;
    kernel_ms = time_kernel([&] { in_one_launch(array, tiles, threads, words.data()); });
  }
  return {out.to_vector(), kernel_ms};
}

}  // namespace lab::device_scan
