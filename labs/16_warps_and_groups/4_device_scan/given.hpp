// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 16.4 device_scan: what device_scan.cu starts from. There is nothing to do in here.
#pragma once

#include <cuda_runtime.h>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cuda/atomic>

#include "device_scan.hpp"
#include "lab/cuda_check.hpp"
#include "lab/device_buffer.hpp"
#include "lab/errors.hpp"
#include "lab/launch_limits.hpp"
#include "lab/refuse_if.hpp"
#include "lab/time_kernel.hpp"

namespace lab::device_scan {

constexpr unsigned kLanes = 32;  // of a warp
constexpr unsigned kAllLanes = 0xFFFF'FFFF;
constexpr unsigned kRounds = 16;  // elements of a thread
constexpr unsigned kFours = 11;   // of a thread with step vectorized: four elements each
constexpr unsigned kMostThreads = 1024;
constexpr unsigned kNoTile = 0xFFFF'FFFF;
constexpr long long kPause = 600'000'000;  // clock cycles: about a third of a second

/// An array to scan: n values, and as many results. They may be the same memory.
struct job {
  const unsigned* values;
  unsigned* out;
  std::size_t n;
  kind mode;
  unsigned late = kNoTile;  ///< the tile whose block pauses
};

// --- one tile, by one block: 16.3, with several elements per thread ------------------------------

/// The first element of this thread in the tile. The others follow at distances of 32, so that the
/// lanes of a warp access neighbours.
__device__ inline std::size_t first_element(std::size_t tile) {
  const unsigned lane = threadIdx.x % kLanes, warp = threadIdx.x / kLanes;
  return tile * kRounds * blockDim.x + warp * kRounds * kLanes + lane;
}

/// The inclusive sum of the lanes 0 to this one.
__device__ inline unsigned scan_warp(unsigned mine) {
  for (unsigned d = 1; d < kLanes; d *= 2) {
    const unsigned before = __shfl_up_sync(kAllLanes, mine, d);
    if (threadIdx.x % kLanes >= d) mine += before;
  }
  return mine;
}

/// The sum of all lanes: each of them gets it.
__device__ inline unsigned sum_of_warp(unsigned mine) {
  for (unsigned d = kLanes / 2; d > 0; d /= 2) mine += __shfl_xor_sync(kAllLanes, mine, d);
  return mine;
}

/// What a warp, or a thread, needs to know of its tile.
struct of_tile {
  unsigned before;  ///< the sum of what comes before it in the tile
  unsigned total;   ///< the sum of the tile
};

/// All threads of the block call it together, with the sum of their warp.
__device__ inline of_tile scan_warps(unsigned of_warp) {
  __shared__ unsigned of_warps[kLanes];
  const unsigned lane = threadIdx.x % kLanes, warp = threadIdx.x / kLanes;
  if (lane == 0) of_warps[warp] = of_warp;
  __syncthreads();
  const unsigned sums = scan_warp(lane < blockDim.x / kLanes ? of_warps[lane] : 0);
  __syncthreads();  // all threads have read `of_warps`
  return {__shfl_sync(kAllLanes, sums, warp) - of_warp, __shfl_sync(kAllLanes, sums, kLanes - 1)};
}

/// For the block of the tile that is to come late.
__device__ inline void pause_if_late(const job& array, std::size_t tile) {
  if (tile == array.late)
    for (const long long begin = clock64(); clock64() - begin < kPause;) __nanosleep(1000);
}

/// What a thread has of a scanned tile.
struct scanned_tile {
  unsigned sums[kRounds];  ///< of the tile up to each of the thread's elements, of the job's kind
  unsigned total;          ///< of the tile; the same for all threads
};

/// All threads of the block call it together. Elements beyond the end count as 0.
__device__ inline scanned_tile scan_tile(const job& array, std::size_t tile) {
  pause_if_late(array, tile);
  unsigned mine[kRounds];
  const std::size_t first = first_element(tile);
  // All loads come before the first sum: none waits for another.
#pragma unroll
  for (unsigned r = 0; r < kRounds; ++r) {
    const std::size_t i = first + r * kLanes;
    mine[r] = i < array.n ? array.values[i] : 0;
  }
  scanned_tile done;
  unsigned of_warp = 0;
#pragma unroll
  for (unsigned r = 0; r < kRounds; ++r) {
    const unsigned sum = scan_warp(mine[r]);
    done.sums[r] = of_warp + (array.mode == kind::inclusive ? sum : sum - mine[r]);
    of_warp += __shfl_sync(kAllLanes, sum, kLanes - 1);
  }
  const auto [before, total] = scan_warps(of_warp);
#pragma unroll
  for (unsigned r = 0; r < kRounds; ++r) done.sums[r] += before;
  done.total = total;
  return done;
}

/// Stores what scan_tile() has found, with `before`, the sum of all tiles before, added.
__device__ inline void store_tile(const job& array, std::size_t tile, const scanned_tile& done,
                                  unsigned before) {
  const std::size_t first = first_element(tile);
#pragma unroll
  for (unsigned r = 0; r < kRounds; ++r) {
    const std::size_t i = first + r * kLanes;
    if (i < array.n) array.out[i] = before + done.sums[r];
  }
}

// --- one tile of step vectorized -----------------------------------------------------------------
// __ldcs() and __stcs() tell the caches that nobody needs these elements again: so they leave room.

// A thread has a row of 44 neighbours: an odd number of fours, so that lanes which access the same
// four of their rows access different banks.
static_assert(kFours % 2 == 1, "rows without bank conflicts");

/// A warp's part of the array: 32 rows.
struct part {
  const unsigned* values;
  unsigned* out;
  unsigned there;  ///< elements of it that the array has: 0 … 1408
};

/// This warp's part of the tile.
__device__ inline part part_of_warp(const job& array, std::size_t tile) {
  constexpr unsigned kMost = 4 * kFours * kLanes;
  const std::size_t first = (tile * blockDim.x + threadIdx.x / kLanes * kLanes) * kFours * 4;
  const std::size_t there = first < array.n ? array.n - first : 0;
  return {array.values + first, array.out + first,
          there < kMost ? static_cast<unsigned>(there) : kMost};
}

/// Adds a number to each of four.
__device__ inline uint4 plus(uint4 four, unsigned number) {
  return {four.x + number, four.y + number, four.z + number, four.w + number};
}

/// Four number `number` of the part: elements 4 * number and the next three. Those that the array
/// does not have are 0.
__device__ inline uint4 load_four(const part& of_array, unsigned number) {
  const unsigned i = 4 * number;
  if (i + 4 <= of_array.there) return __ldcs(reinterpret_cast<const uint4*>(of_array.values + i));
  const auto at = [&](unsigned k) { return k < of_array.there ? of_array.values[k] : 0; };
  return {at(i), at(i + 1), at(i + 2), 0};
}

/// Stores the same four, except for elements that the array does not have.
__device__ inline void store_four(const part& of_array, unsigned number, uint4 four) {
  const unsigned i = 4 * number;
  if (i + 4 <= of_array.there) {
    __stcs(reinterpret_cast<uint4*>(of_array.out + i), four);
  } else {
    if (i < of_array.there) of_array.out[i] = four.x;
    if (i + 1 < of_array.there) of_array.out[i + 1] = four.y;
    if (i + 2 < of_array.there) of_array.out[i + 2] = four.z;
  }
}

// --- a word that a block publishes ---------------------------------------------------------------

/// What is known of a tile: 64 bits, which are read and written together.
using tile_word = unsigned long long;
using published = cuda::atomic_ref<tile_word, cuda::thread_scope_device>;

enum class known : unsigned {
  nothing,    ///< no sum yet. A word of zeros says that
  aggregate,  ///< the sum of the tile
  prefix,     ///< the sum of the tile and of all tiles before it
};

__device__ inline tile_word pack(known state, unsigned sum) {
  return tile_word{static_cast<unsigned>(state)} << 32 | sum;
}
__device__ inline known state_in(tile_word word) { return static_cast<known>(word >> 32); }
__device__ inline unsigned sum_in(tile_word word) { return static_cast<unsigned>(word); }

// --- the host's part -----------------------------------------------------------------------------

/// Refuses what the contract refuses, and returns the number of tiles.
inline unsigned tiles_of(step version, std::size_t n, unsigned threads) {
  refuse_if(!std::has_single_bit(threads) || threads < kLanes || threads > kMostThreads,
            "device_scan: blocks of ", threads,
            " threads were asked for; take a power of two from 32 to 1024");
  require_at_most(cudaDevAttrMaxThreadsPerBlock, threads, "threads in a block");
  if (version == step::vectorized)
    require_at_most(cudaDevAttrMaxSharedMemoryPerBlockOptin, threads * kFours * sizeof(uint4),
                    "bytes of shared memory in a block");
  const std::size_t of_tile =
      std::size_t{version == step::vectorized ? 4 * kFours : kRounds} * threads;
  const std::size_t tiles = n / of_tile + (n % of_tile != 0 ? 1 : 0);
  require_at_most(cudaDevAttrMaxGridDimX, tiles, "blocks");
  return static_cast<unsigned>(tiles);
}

}  // namespace lab::device_scan
