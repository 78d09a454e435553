// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 14.1 bitonic_sort: the same comparisons for all data, so that every thread knows what to do.
// Edit:  this file, from TODO(1) to TODO(5); TODO(6) to TODO(8) are a bonus. bitonic_sort.hpp says
//        what is asked for.
// Run:   scripts/lab run 14.1 -- --step shared_tiles     (then --step registers)
// Test:  scripts/lab test 14.1
// Hints: scripts/lab hint 14.1                           Chapter: docs/14_sorting.md

#include <cuda_runtime.h>

#include "given.hpp"

namespace lab::bitonic_sort {
namespace {

// Level 1 sorts runs of 2 elements, level 2 runs of 4, level L runs of 2^L. It has L stages, for
// the bits L - 1, L - 2, … 0: a comparator of the stage `bit` joins the elements at two places that
// differ in this bit alone. The one with a 0 there is its left end.

/// Whether the run of 2^level elements around this place falls. `place` counts from the first
/// element of all arrays; its lower 32 bits are enough.
__device__ bool falls(const arrays_on_device& data, unsigned place, unsigned level) {
  // TODO(1): Runs rise and fall in turn, so that two neighbours are a bitonic sequence for the next
  //          level; the last level, where a run is a whole array, goes as the caller asked, in
  //          every array. (What is bit `level` of a place within its array, in the last level?)
  return false;
}

/// A comparator on two elements in memory: exchanges them if they are out of order.
__device__ void compare(unsigned* keys, unsigned* values, std::size_t left, std::size_t right,
                        bool falling) {
  // TODO(2): where the key that comes first in this direction is on the right, exchange the keys,
  //          and the values (if there are any: `values` may be null).
}

// --- shared_tiles --------------------------------------------------------------------------------
// Requires kThreads threads per block: one for each comparator of a tile.

/// The levels first, …, last, as far as they happen within a tile: of a level above kTileBits, the
/// stages from kTileBits - 1 on.
__global__ void __launch_bounds__(kThreads)
    tile_stages(arrays_on_device data, unsigned first, unsigned last) {
  __shared__ unsigned keys[kTile], values[kTile];
  const std::size_t begin = std::size_t{blockIdx.x} * kTile;  // the tile's first element

  // TODO(3): bring the tile into shared memory, do the stages, put it back. The last tile may
  //          overhang: touch nothing past n. (Its arrays are whole: if the left end of a
  //          comparator is there, so is the right one.)
  //          Invariant: no thread begins a stage before all have finished the one before.
  compare(keys, values, 0, 0, falls(data, 0, 0));
}

/// One stage in global memory, for comparators that are longer than a tile: one per thread.
__global__ void __launch_bounds__(kThreads)
    global_stage(arrays_on_device data, unsigned level, unsigned bit) {
  // TODO(4): the comparator that has this thread's number in the grid. There are n / 2 of them.
}

/// Sorts. Returns how many launches that took. `levels` is log2 of an array's length, not 0.
unsigned sort_in_shared_tiles(const arrays_on_device& data, unsigned levels) {
  // TODO(5): the levels up to kTileBits are one launch of tile_stages. Each level above that has
  //          its long stages in global memory, a launch for each, and the others in tiles.
  //          CUDA_CHECK(cudaGetLastError()) after each launch.
  throw not_written("step shared_tiles", 1);  // 1 to 5
}

// --- registers: four stages for one trip to memory -----------------------------------------------
// The 16 places that differ in four bits next to each other are joined by the four stages of these
// bits with each other, and with no others. So a thread can take the 16 elements into registers, do
// the four stages on its own, and put them back. Registers have no addresses: every
// index into `held` must be known when the program is compiled, which #pragma unroll sees to.

/// The stages low + kBits - 1, …, low of `level`, without those from `bits` on, which are done.
/// Element i of the thread is that at `place` + i * 2^low.
__device__ void stages_in_registers(held& mine, const arrays_on_device& data, unsigned place,
                                    unsigned level, unsigned bits, unsigned low) {
  // TODO(6, bonus): unrolled loops over the four bits and, for each, the eight comparators among
  //          the 16 elements. Exchange by `swap ? a : b` rather than `if`: it costs no jump.
}

/// As tile_stages(), with wide tiles, and only the stages below `most`.
__global__ void __launch_bounds__(kWideThreads)
    wide_tile_stages(arrays_on_device data, unsigned first, unsigned last, unsigned most) {
  __shared__ unsigned keys[padded(kWide)], values[padded(kWide)];
  const std::size_t begin = std::size_t{blockIdx.x} * kWide;

  // TODO(7, bonus): as TODO(3), in groups of stages: those of bits 8 to 11, then 4 to 7, then 0 to
  //          3, and only the groups that the level has. For the group at `low`, the thread's first
  //          place is with_zeros(threadIdx.x, low, kBits). One barrier per group. Threads without
  //          elements sort garbage, which is never stored: no guard is needed.
  held mine{{keys[0]}, {values[0]}};
  stages_in_registers(mine, data, 0, 0, 0, 0);
}

/// The four stages low + 3, …, low of a level, between global memory and registers. Requires as
/// many threads as there are elements / kHeld: arrays longer than a tile are a whole number of
/// them.
__global__ void __launch_bounds__(kWideThreads)
    four_global_stages(arrays_on_device data, unsigned level, unsigned low) {
  // TODO(8, bonus): 16 elements, as in TODO(7), but of global memory. Neighbouring threads read
  //          neighbouring elements.
}

unsigned sort_in_registers(const arrays_on_device& data, unsigned levels) {
  // TODO(8, bonus): the levels up to kWideBits are one launch. Of each level above, take four
  //          stages per launch off the top, until at most kWideBits are left: those are a launch in
  //          tiles.
  throw not_written("step registers", 6);  // 6 to 8
}

}  // namespace

result sort(step which, std::span<const std::uint32_t> keys, std::span<const std::uint32_t> values,
            batch arrays, direction way) {
  return host_part_of_sort(which == step::shared_tiles ? sort_in_shared_tiles : sort_in_registers,
                           keys, values, arrays, way);
}

}  // namespace lab::bitonic_sort
