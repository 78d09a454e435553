// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 14.1 bitonic_sort: the same comparisons for all data, so that every thread knows what to do.
// Edit:  this file, from TODO(1) to TODO(5); TODO(6) to TODO(11) are a bonus. bitonic_sort.hpp has
//        the contract.
// Run:   scripts/lab run 14.1 -- --step shared_tiles     (then --step registers)
// Test:  scripts/lab test 14.1
// Hints: scripts/lab hint 14.1                           Chapter: docs/14_sorting.md

#include <cuda_runtime.h>

#include "given.hpp"

namespace lab::bitonic_sort {
namespace {

// Level 1 sorts runs of 2 elements, level 2 runs of 4, level L runs of 2^L. It has L stages, for
// the bits L - 1, L - 2, … 0: a comparator of the stage `bit` connects the elements at two
// positions that differ in this bit alone. The one with a 0 there is its left end.

/// Whether the run of 2^level elements around this position is descending. `position` counts from
/// the first element of all arrays; its lower 32 bits are enough.
__device__ bool falls(const arrays_on_device& data, unsigned position, unsigned level) {
  // TODO(1): Runs rise and fall in turn, so that two neighbours are a bitonic sequence for the next
  //          level; the last level, where a run is a whole array, has the caller's direction in
  //          every array. (What is bit `level` of a position within its array, in the last level?)
  // BEGIN SOLUTION
  // STUB: return false;
  const unsigned index_in_array = position & (data.length - 1);
  const bool second_of_two = (index_in_array & (1U << level)) != 0;  // never in the last level
  return second_of_two != data.descending;
  // END SOLUTION
}

/// A comparator on two elements in memory: exchanges them if they are out of order.
__device__ void compare(unsigned* keys, unsigned* values, std::size_t left, std::size_t right,
                        bool falling) {
  // TODO(2): if the key that comes first in this direction is on the right, exchange the keys,
  //          and the values (if there are any: `values` may be null).
  // BEGIN SOLUTION
  const unsigned a = keys[left], b = keys[right];
  if (falling ? a < b : a > b) {
    keys[left] = b;
    keys[right] = a;
    if (values != nullptr) {
      const unsigned value = values[left];
      values[left] = values[right];
      values[right] = value;
    }
  }
  // END SOLUTION
}

// --- shared_tiles --------------------------------------------------------------------------------
// Requires kThreads threads per block: one for each comparator of a tile.

/// The levels first, …, last, as far as they stay within a tile: of a level above kTileBits, the
/// stages from kTileBits - 1 down.
__global__ void __launch_bounds__(kThreads)
    tile_stages(arrays_on_device data, unsigned first, unsigned last) {
  __shared__ unsigned keys[kTile], values[kTile];
  const std::size_t begin = std::size_t{blockIdx.x} * kTile;  // the tile's first element

  // TODO(3): load the tile into shared memory, do the stages, store it. The last tile may extend
  //          beyond n: access nothing past n. (Its arrays are complete: if the left end of a
  //          comparator exists, so does the right one.)
  //          Invariant: no thread begins a stage before all have finished the previous one.
  // BEGIN SOLUTION
  const bool pairs = data.values != nullptr;
  for (unsigned i = threadIdx.x; i < kTile && begin + i < data.n; i += kThreads) {
    keys[i] = data.keys[begin + i];
    if (pairs) values[i] = data.values[begin + i];
  }
  for (unsigned level = first; level <= last; ++level) {
    for (unsigned bit = level < kTileBits ? level : kTileBits; bit-- > 0;) {
      __syncthreads();  // the previous stage is complete (at first: the tile)
      const unsigned left = with_zeros(threadIdx.x, bit, 1);
      if (begin + left < data.n)  // inside: all threads of the block arrive at the barrier above
        compare(keys, pairs ? values : nullptr, left, left + (1U << bit),
                falls(data, static_cast<unsigned>(begin) + left, level));
    }
  }
  __syncthreads();  // the last stage is complete
  for (unsigned i = threadIdx.x; i < kTile && begin + i < data.n; i += kThreads) {
    data.keys[begin + i] = keys[i];
    if (pairs) data.values[begin + i] = values[i];
  }
  // END SOLUTION
}

/// One stage in global memory, for comparators that are longer than a tile: one per thread.
__global__ void __launch_bounds__(kThreads)
    global_stage(arrays_on_device data, unsigned level, unsigned bit) {
  // TODO(4): the comparator with this thread's index in the grid. There are n / 2 of them.
  // BEGIN SOLUTION
  const std::size_t comparator = std::size_t{blockIdx.x} * kThreads + threadIdx.x;
  const std::size_t left = with_zeros(comparator, bit, 1);
  if (comparator < data.n / 2)
    compare(data.keys, data.values, left, left + (std::size_t{1} << bit),
            falls(data, static_cast<unsigned>(left), level));
  // END SOLUTION
}

/// Sorts. Returns the number of launches. `levels` is log2 of an array's length, not 0.
unsigned sort_in_shared_tiles(const arrays_on_device& data, unsigned levels) {
  // TODO(5): the levels up to kTileBits are one launch of tile_stages. Each level above that has
  //          its long stages in global memory, a launch for each, and the others in tiles.
  //          CUDA_CHECK(cudaGetLastError()) after each launch.
  // BEGIN SOLUTION
  // STUB: throw not_written("step shared_tiles", 1);  // 1 to 5
  const unsigned blocks = blocks_for(data.n, kTile);
  tile_stages<<<blocks, kThreads>>>(data, 1, std::min(levels, kTileBits));
  CUDA_CHECK(cudaGetLastError());
  unsigned launches = 1;
  for (unsigned level = kTileBits + 1; level <= levels; ++level) {
    for (unsigned bit = level; bit-- > kTileBits;) {
      global_stage<<<blocks, kThreads>>>(data, level, bit);
      CUDA_CHECK(cudaGetLastError());
      ++launches;
    }
    tile_stages<<<blocks, kThreads>>>(data, level, level);
    CUDA_CHECK(cudaGetLastError());
    ++launches;
  }
  return launches;
  // END SOLUTION
}

// --- registers: four stages per access to memory -------------------------------------------------
// The four stages of neighbouring bits connect 16 elements only with each other. A thread loads
// these into registers, does the stages, and stores them. Registers have no addresses: every index
// into `held` must be known at compile time, which #pragma unroll takes care of.

/// The stages first, first - 1, …, 0 among the 16 elements that a thread holds. falls_at(left) says
/// whether the run of element `left` is descending.
template <class Falls>
__device__ void stages_in_registers(held& mine, unsigned first, const Falls& falls_at) {
  // TODO(6, bonus): unrolled loops over the four bits (those above `first` do nothing) and, for
  //          each, the eight comparators among the 16 elements. Exchange with `swap ? a : b`
  //          rather than `if`: it needs no branch.
  // BEGIN SOLUTION
#pragma unroll
  for (unsigned round = 0; round < kBits; ++round) {
    const unsigned bit = kBits - 1 - round;
    if (bit > first) continue;  // the same for all threads
#pragma unroll
    for (unsigned comparator = 0; comparator < kHeld / 2; ++comparator) {
      const unsigned left = with_zeros(comparator, bit, 1), right = left + (1U << bit);
      const unsigned a = mine.key[left], b = mine.key[right];
      const unsigned value_a = mine.value[left], value_b = mine.value[right];
      // A descending run exchanges equal keys, too, which does no harm.
      const bool swap = (a > b) != falls_at(left);
      mine.key[left] = swap ? b : a;
      mine.key[right] = swap ? a : b;
      mine.value[left] = swap ? value_b : value_a;
      mine.value[right] = swap ? value_a : value_b;
    }
  }
  // END SOLUTION
}

/// The levels 1 to kBits, but none above `last`, among 16 neighbours, the first of which is at
/// `position`. Only these levels have their comparators and directions within 16 elements.
__device__ void first_levels(held& mine, const arrays_on_device& data, unsigned position,
                             unsigned last) {
  // TODO(7, bonus): an unrolled loop over the levels. Element i is at position + i.
  // BEGIN SOLUTION
#pragma unroll
  for (unsigned level = 1; level <= kBits; ++level)
    if (level <= last)
      stages_in_registers(mine, level - 1,
                          [&](unsigned i) { return falls(data, position + i, level); });
  // END SOLUTION
}

/// The stages left - 1, …, 0 of a level above kBits, in a tile that begins at `begin`.
template <bool kPairs>
__device__ void stages_in_tile(wide_tile& tile, const arrays_on_device& data, std::size_t begin,
                               unsigned level, unsigned left) {
  // TODO(8, bonus): groups of four stages: the highest four that remain, the next four, …; the
  //          last group may have fewer. For the group whose lowest bit is `low`, the thread's first
  //          position is with_zeros(threadIdx.x, low, kBits), its element i is i * 2^low further
  //          on: taken(), stages_in_registers() with one_direction{falling}, put(). One barrier
  //          per group, including the first. Threads without elements sort garbage, which is
  //          never stored: no guard.
  // BEGIN SOLUTION
  while (left > 0) {
    const unsigned low = left > kBits ? left - kBits : 0;
    const unsigned position = with_zeros(threadIdx.x, low, kBits);
    __syncthreads();  // the previous group is complete (at first: the tile)
    held mine = taken<kPairs>(tile, position, low);
    const bool falling = falls(data, static_cast<unsigned>(begin) + position, level);
    stages_in_registers(mine, left - low - 1, one_direction{falling});
    put<kPairs>(mine, tile, position, low);
    left = low;
  }
  // END SOLUTION
}

/// The levels 1, …, last, which is at most kWideBits, in wide tiles. With only two blocks per
/// multiprocessor guaranteed, a thread may have enough registers for 16 pairs and everything
/// else.
template <bool kPairs>
__global__ void __launch_bounds__(kWideThreads, 2)
    sort_wide_tiles(arrays_on_device data, unsigned last) {
  // TODO(9, bonus): this block's kWide elements: load_tile<kPairs>(tile, data, begin) into a shared
  //          wide_tile; the first levels in one group, of 16 neighbours; each level after them by
  //          stages_in_tile(); store_tile() with the same arguments. Where do you need barriers?
  // BEGIN SOLUTION
  __shared__ wide_tile tile;
  const std::size_t begin = std::size_t{blockIdx.x} * kWide;
  load_tile<kPairs>(tile, data, begin);
  __syncthreads();  // the tile is complete
  const unsigned position = threadIdx.x * kHeld;
  held mine = taken<kPairs>(tile, position, 0);
  first_levels(mine, data, static_cast<unsigned>(begin) + position, last);
  put<kPairs>(mine, tile, position, 0);
  for (unsigned level = kBits + 1; level <= last; ++level)
    stages_in_tile<kPairs>(tile, data, begin, level, level);
  __syncthreads();  // the last group is complete
  store_tile<kPairs>(tile, data, begin);
  // END SOLUTION
}

/// The stages left - 1, …, 0 of a level above kWideBits, in wide tiles: arrays fill whole tiles.
template <bool kPairs>
__global__ void __launch_bounds__(kWideThreads)
    merge_wide_tiles(arrays_on_device data, unsigned level, unsigned left) {
  // TODO(10, bonus): the first group loads its elements directly from global memory, begin +
  //          position and so on, and stores them in a tile. The others are in stages_in_tile().
  //          Then store_tile().
  // BEGIN SOLUTION
  __shared__ wide_tile tile;
  const std::size_t begin = std::size_t{blockIdx.x} * kWide;
  const unsigned low = left - kBits;
  const unsigned position = with_zeros(threadIdx.x, low, kBits);
  held mine = taken<kPairs>(data, begin + position, low);
  const bool falling = falls(data, static_cast<unsigned>(begin) + position, level);
  stages_in_registers(mine, kBits - 1, one_direction{falling});
  put<kPairs>(mine, tile, position, low);
  stages_in_tile<kPairs>(tile, data, begin, level, low);
  __syncthreads();  // the last group is complete
  store_tile<kPairs>(tile, data, begin);
  // END SOLUTION
}

/// The four stages low + 3, …, low of a level, between global memory and registers. Requires
/// n / kHeld threads: arrays longer than a tile are a whole number of them.
template <bool kPairs>
__global__ void __launch_bounds__(kWideThreads)
    four_global_stages(arrays_on_device data, unsigned level, unsigned low) {
  // TODO(11, bonus): 16 elements from global memory, and back to it.
  // BEGIN SOLUTION
  const std::size_t thread = std::size_t{blockIdx.x} * kWideThreads + threadIdx.x;
  const std::size_t position = with_zeros(thread, low, kBits);
  held mine = taken<kPairs>(data, position, low);
  const bool falling = falls(data, static_cast<unsigned>(position), level);
  stages_in_registers(mine, kBits - 1, one_direction{falling});
  put<kPairs>(mine, data, position, low);
  // END SOLUTION
}

template <bool kPairs>
unsigned sort_in_registers(const arrays_on_device& data, unsigned levels) {
  // TODO(11, bonus): the levels up to kWideBits are one launch. Of each level above, do the
  //          top four remaining stages per launch, until at most kWideBits are left: those are one
  //          launch in tiles.
  // BEGIN SOLUTION
  // STUB: throw not_written("step registers", 6);  // 6 to 11
  const unsigned blocks = blocks_for(data.n, kWide);
  sort_wide_tiles<kPairs><<<blocks, kWideThreads>>>(data, std::min(levels, kWideBits));
  CUDA_CHECK(cudaGetLastError());
  unsigned launches = 1;
  for (unsigned level = kWideBits + 1; level <= levels; ++level) {
    unsigned left = level;  // stages of this level that remain
    for (; left > kWideBits; left -= kBits) {
      four_global_stages<kPairs><<<blocks, kWideThreads>>>(data, level, left - kBits);
      CUDA_CHECK(cudaGetLastError());
      ++launches;
    }
    merge_wide_tiles<kPairs><<<blocks, kWideThreads>>>(data, level, left);
    CUDA_CHECK(cudaGetLastError());
    ++launches;
  }
  return launches;
  // END SOLUTION
}

}  // namespace

result sort(step version, std::span<const std::uint32_t> keys,
            std::span<const std::uint32_t> values, batch arrays, direction order) {
  const auto in_registers = values.empty() ? sort_in_registers<false> : sort_in_registers<true>;
  return host_part_of_sort(version == step::shared_tiles ? sort_in_shared_tiles : in_registers,
                           keys, values, arrays, order);
}

}  // namespace lab::bitonic_sort
