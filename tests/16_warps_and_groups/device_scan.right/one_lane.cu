// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Differs from the solution: one lane looks back, a tile at a time, and words are published by
// atomicExch, and tile numbers are drawn by atomicAdd.

#include <cuda_runtime.h>

#include "given.hpp"

namespace lab::device_scan {
namespace {

// --- three_launches ------------------------------------------------------------------------------

/// totals[t]: the sum of tile t. Block t scans tile t as if nothing came before it.
__global__ void scan_tiles(job array, unsigned* totals) {
  const scanned_tile done = scan_tile(array, blockIdx.x);
  store_tile(array, blockIdx.x, done, 0);
  if (threadIdx.x == 0) totals[blockIdx.x] = done.total;
}

/// Replaces each total with the sum of all totals before it. `totals` is a job whose
/// values and results are the same memory. One block does it, however many there are.
__global__ void scan_totals(job totals) {
  unsigned before = 0;
  for (std::size_t tile = 0; tile * kRounds * blockDim.x < totals.n; ++tile) {
    const scanned_tile done = scan_tile(totals, tile);
    store_tile(totals, tile, done, before);
    before += done.total;
  }
}

/// Adds to the elements of tile t the sum of the tiles before it: before[t].
__global__ void add_totals(job array, const unsigned* before) {
  const std::size_t first = first_element(blockIdx.x);
  const unsigned more = before[blockIdx.x];
  for (unsigned r = 0; r < kRounds; ++r) {
    const std::size_t i = first + r * kLanes;
    if (i < array.n) array.out[i] += more;
  }
}

void three_launches(const job& array, unsigned tiles, unsigned threads, unsigned* totals) {
  scan_tiles<<<tiles, threads>>>(array, totals);
  CUDA_CHECK(cudaGetLastError());
  scan_totals<<<1, threads>>>(job{totals, totals, tiles, kind::exclusive});
  CUDA_CHECK(cudaGetLastError());
  add_totals<<<tiles, threads>>>(array, totals);
}

// --- decoupled_look_back -------------------------------------------------------------------------
// Requires that a block waits only for blocks that have already started.

/// The sum of all tiles before this one. All lanes of one warp call it together.
__device__ unsigned look_back(tile_word* words, unsigned tile) {
  // Lane 0 looks back alone, one tile at a time, and tells the others.
  unsigned before = 0;
  if (threadIdx.x % kLanes == 0) {
    for (unsigned t = tile; t-- > 0;) {
      tile_word word = 0;
      while (state_in(word) == known::nothing)
        word = published(words[t]).load(cuda::memory_order_relaxed);
      before += sum_in(word);
      if (state_in(word) == known::prefix) break;
    }
  }
  return __shfl_sync(kAllLanes, before, 0);
}

/// The number of the block's tile, for all of its threads. *next is the number of the next tile.
__device__ unsigned draw_tile(tile_word* next) {
  __shared__ unsigned drawn_tile;
  if (threadIdx.x == 0) drawn_tile = static_cast<unsigned>(atomicAdd(next, 1ULL));
  __syncthreads();
  return drawn_tile;
}

/// Publishes what is known about the tile, whose sum is `total`. Returns to all threads of the
/// block the sum of the tiles before it. `words` has one for each tile.
__device__ unsigned publish_and_look_back(tile_word* words, unsigned tile, unsigned total) {
  __shared__ unsigned sum_before;
  if (threadIdx.x < kLanes) {
    if (threadIdx.x == 0)
      atomicExch(&words[tile], pack(tile == 0 ? known::prefix : known::aggregate, total));
    const unsigned before = look_back(words, tile);
    if (threadIdx.x == 0) {
      if (tile > 0) atomicExch(&words[tile], pack(known::prefix, before + total));
      sum_before = before;
    }
  }
  __syncthreads();
  return sum_before;
}

/// `words` has one for each tile, followed by the number of the next tile. All are 0 at first.
__global__ void scan_in_one_pass(job array, tile_word* words) {
  const unsigned tile = draw_tile(&words[gridDim.x]);
  const scanned_tile mine = scan_tile(array, tile);
  store_tile(array, tile, mine, publish_and_look_back(words, tile, mine.total));
}

void decoupled_look_back(const job& array, unsigned tiles, unsigned threads, tile_word* words) {
  CUDA_CHECK(cudaMemsetAsync(words, 0, (tiles + 1) * sizeof(tile_word)));
  scan_in_one_pass<<<tiles, threads>>>(array, words);
}

// --- vectorized ----------------------------------------------------------------------------------
// Changes which elements of a tile a thread has: a row of 44 neighbours. Requires an array that
// begins at a multiple of 16 bytes, as memory from cudaMalloc does.

/// Loads the warp's part of the array: this thread's row goes to `mine`. For the exchange, the warp
/// has shared memory for its 32 rows.
__device__ void load_row(const part& of_warp, uint4* rows, uint4 (&mine)[kFours]) {
  const unsigned lane = threadIdx.x % kLanes;
#pragma unroll
  for (unsigned r = 0; r < kFours; ++r) mine[r] = load_four(of_warp, r * kLanes + lane);
#pragma unroll
  for (unsigned r = 0; r < kFours; ++r) rows[r * kLanes + lane] = mine[r];
  __syncwarp();
#pragma unroll
  for (unsigned f = 0; f < kFours; ++f) mine[f] = rows[lane * kFours + f];
}

/// Replaces the elements of this thread's row with their prefix sums of kind `mode`, as if nothing
/// came before the row. Returns the sum before it in the tile, and the tile's sum.
__device__ of_tile scan_row(kind mode, uint4 (&mine)[kFours]) {
  unsigned of_row = 0;
#pragma unroll
  for (unsigned f = 0; f < kFours; ++f) {
    const uint4 four = mine[f];
    const unsigned x = of_row, y = x + four.x, z = y + four.y, w = z + four.z;
    of_row = w + four.w;
    mine[f] = mode == kind::exclusive ? uint4{x, y, z, w} : uint4{y, z, w, of_row};
  }
  const unsigned in_warp = scan_warp(of_row);
  const of_tile all = scan_warps(__shfl_sync(kAllLanes, in_warp, kLanes - 1));
  return {all.before + in_warp - of_row, all.total};
}

/// Stores the row of load_row(), with `before` added: the sum of everything before the row.
__device__ void store_row(const part& of_warp, uint4* rows, const uint4 (&mine)[kFours],
                          unsigned before) {
  const unsigned lane = threadIdx.x % kLanes;
  __syncwarp();
#pragma unroll
  for (unsigned f = 0; f < kFours; ++f) rows[lane * kFours + f] = plus(mine[f], before);
  __syncwarp();
#pragma unroll
  for (unsigned r = 0; r < kFours; ++r) {
    const unsigned number = r * kLanes + lane;
    store_four(of_warp, number, rows[number]);
  }
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
  CUDA_CHECK(cudaMemsetAsync(words, 0, (tiles + 1) * sizeof(tile_word)));
  scan_rows_in_one_pass<<<tiles, threads, shared_bytes>>>(array, words);
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
