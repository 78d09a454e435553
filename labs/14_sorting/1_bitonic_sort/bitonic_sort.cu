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
  return false;
}

/// A comparator on two elements in memory: exchanges them if they are out of order.
__device__ void compare(unsigned* keys, unsigned* values, std::size_t left, std::size_t right,
                        bool falling) {
  // TODO(2): if the key that comes first in this direction is on the right, exchange the keys,
  //          and the values (if there are any: `values` may be null).
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
}

/// One stage in global memory, for comparators that are longer than a tile: one per thread.
__global__ void __launch_bounds__(kThreads)
    global_stage(arrays_on_device data, unsigned level, unsigned bit) {
  // TODO(4): the comparator with this thread's index in the grid. There are n / 2 of them.
}

/// Sorts. Returns the number of launches. `levels` is log2 of an array's length, not 0.
unsigned sort_in_shared_tiles(const arrays_on_device& data, unsigned levels) {
  // TODO(5): the levels up to kTileBits are one launch of tile_stages. Each level above that has
  //          its long stages in global memory, a launch for each, and the others in tiles.
  //          CUDA_CHECK(cudaGetLastError()) after each launch.
  throw not_written("step shared_tiles", 1);  // 1 to 5
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
}

/// The levels 1 to kBits, but none above `last`, among 16 neighbours, the first of which is at
/// `position`. Only these levels have their comparators and directions within 16 elements.
__device__ void first_levels(held& mine, const arrays_on_device& data, unsigned position,
                             unsigned last) {
  // TODO(7, bonus): an unrolled loop over the levels. Element i is at position + i.
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
}

/// The stages left - 1, …, 0 of a level above kWideBits, in wide tiles: arrays fill whole tiles.
template <bool kPairs>
__global__ void __launch_bounds__(kWideThreads)
    merge_wide_tiles(arrays_on_device data, unsigned level, unsigned left) {
  // TODO(10, bonus): the first group loads its elements directly from global memory, begin +
  //          position and so on, and stores them in a tile. The others are in stages_in_tile().
  //          Then store_tile().
}

/// The four stages low + 3, …, low of a level, between global memory and registers. Requires
/// n / kHeld threads: arrays longer than a tile are a whole number of them.
template <bool kPairs>
__global__ void __launch_bounds__(kWideThreads)
    four_global_stages(arrays_on_device data, unsigned level, unsigned low) {
  // TODO(11, bonus): 16 elements from global memory, and back to it.
}

template <bool kPairs>
unsigned sort_in_registers(const arrays_on_device& data, unsigned levels) {
  // TODO(11, bonus): the levels up to kWideBits are one launch. Of each level above, do the
  //          top four remaining stages per launch, until at most kWideBits are left: those are one
  //          launch in tiles.
  throw not_written("step registers", 6);  // 6 to 11
}

}  // namespace

result sort(step version, std::span<const std::uint32_t> keys,
            std::span<const std::uint32_t> values, batch arrays, direction order) {
  const auto in_registers = values.empty() ? sort_in_registers<false> : sort_in_registers<true>;
  return host_part_of_sort(version == step::shared_tiles ? sort_in_shared_tiles : in_registers,
                           keys, values, arrays, order);
}

}  // namespace lab::bitonic_sort
