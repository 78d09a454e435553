// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 14.2 odd_even_merge_sort: fewer comparators than the bitonic sort, in a less regular pattern.
// Edit:  this file, from TODO(1) to TODO(8). odd_even_merge_sort.hpp has the contract.
// Run:   scripts/lab run 14.2 -- --step shared_tiles     (then --step columns_and_windows)
// Test:  scripts/lab test 14.2
// Hints: scripts/lab hint 14.2                           Chapter: docs/14_sorting.md

#include <cuda_runtime.h>

#include "given.hpp"

namespace lab::odd_even_merge_sort {
namespace {

// Level L merges two sorted runs of 2^(L-1) elements into one of 2^L. It has L stages, for the bits
// L - 1, L - 2, … 0. A comparator of the stage `bit` connects a position with that 2^bit further
// on. All comparators have the same direction.

/// The left end of comparator `number` = 0, 1, 2, … of a stage.
template <class Number>
__device__ Number left_end(Number number, unsigned level, unsigned bit) {
  // TODO(1): In a level's first stage, for its highest bit, the left ends are the positions whose
  //          bit `bit` is 0. In its other stages they are those where it is 1: a comparator
  //          connects the second half of one segment with the first half of the next.
  // BEGIN SOLUTION
  // STUB: return with_zero(number, bit);
  const Number distance = Number{1} << bit;
  return with_zero(number, bit) + (bit + 1 == level ? 0 : distance);
  // END SOLUTION
}

/// Whether a comparator from `left` to `right` is part of level `level`: both are in one run.
template <class Number>
__device__ bool in_one_run(Number left, Number right, unsigned level) {
  // TODO(1): runs of 2^level elements follow one another.
  // BEGIN SOLUTION
  // STUB: return false;
  return left >> level == right >> level;
  // END SOLUTION
}

/// A comparator on two elements in memory: exchanges them if they are out of order.
__device__ void compare(unsigned* keys, unsigned* values, std::size_t left, std::size_t right,
                        bool descending) {
  // TODO(2): as in 14.1. `values` may be null.
  // BEGIN SOLUTION
  const unsigned a = keys[left], b = keys[right];
  if (descending ? a < b : a > b) {
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

constexpr unsigned kThreads = 512;  // in every block of this file

// --- shared_tiles --------------------------------------------------------------------------------

constexpr unsigned kTileBits = 10;
constexpr unsigned kTile = 1U << kTileBits;  // elements that a block keeps in shared memory
static_assert(kTile == 2 * kThreads, "one thread for each comparator");

/// The levels 1, …, last, which must not be above kTileBits: each run is within one tile.
__global__ void __launch_bounds__(kThreads) small_levels(arrays_on_device data, unsigned last) {
  __shared__ unsigned keys[kTile], values[kTile];
  const std::size_t begin = std::size_t{blockIdx.x} * kTile;  // the tile's first element

  // TODO(3): load the tile into shared memory, do the stages, store it. The last tile may extend
  //          beyond n: access nothing past n.
  //          Invariant: no thread begins a stage before all have finished the previous one.
  // BEGIN SOLUTION
  // STUB: compare(keys, values, left_end(0U, 1, 0), 1, in_one_run(0U, 1U, 1));  // replace this
  const bool pairs = data.values != nullptr;
  for (unsigned i = threadIdx.x; i < kTile && begin + i < data.n; i += kThreads) {
    keys[i] = data.keys[begin + i];
    if (pairs) values[i] = data.values[begin + i];
  }
  for (unsigned level = 1; level <= last; ++level) {
    for (unsigned bit = level; bit-- > 0;) {
      __syncthreads();  // the previous stage is complete (at first: the tile)
      const unsigned left = left_end(threadIdx.x, level, bit), right = left + (1U << bit);
      if (in_one_run(left, right, level) && begin + right < data.n)
        compare(keys, pairs ? values : nullptr, left, right, data.descending);
    }
  }
  __syncthreads();  // the last stage is complete
  for (unsigned i = threadIdx.x; i < kTile && begin + i < data.n; i += kThreads) {
    data.keys[begin + i] = keys[i];
    if (pairs) data.values[begin + i] = values[i];
  }
  // END SOLUTION
}

/// One stage in global memory: a comparator for each thread.
__global__ void __launch_bounds__(kThreads)
    global_stage(arrays_on_device data, unsigned level, unsigned bit) {
  // TODO(4): the comparator with this thread's index in the grid, if there is one.
  // BEGIN SOLUTION
  const std::size_t left = left_end(std::size_t{blockIdx.x} * kThreads + threadIdx.x, level, bit);
  const std::size_t right = left + (std::size_t{1} << bit);
  if (in_one_run(left, right, level) && right < data.n)
    compare(data.keys, data.values, left, right, data.descending);
  // END SOLUTION
}

/// Sorts. Returns the number of launches. `levels` is log2 of an array's length, not 0.
unsigned sort_in_shared_tiles(const arrays_on_device& data, unsigned levels) {
  // TODO(5): the levels up to kTileBits are one launch. Of a level above that, can the short stages
  //          be done in tiles, as in 14.1? What does a comparator connect in the stage of bit 9?
  //          CUDA_CHECK(cudaGetLastError()) after each launch.
  // BEGIN SOLUTION
  // STUB: throw not_written("step shared_tiles", 1);  // 1 to 5
  const unsigned blocks = blocks_for(data.n, kTile);
  small_levels<<<blocks, kThreads>>>(data, std::min(levels, kTileBits));
  CUDA_CHECK(cudaGetLastError());
  unsigned launches = 1;
  for (unsigned level = kTileBits + 1; level <= levels; ++level) {
    for (unsigned bit = level; bit-- > 0;) {  // every stage has comparators across tile edges
      global_stage<<<blocks, kThreads>>>(data, level, bit);
      CUDA_CHECK(cudaGetLastError());
      ++launches;
    }
  }
  return launches;
  // END SOLUTION
}

// --- columns_and_windows -------------------------------------------------------------------------
// Arrange the elements of a run in rows of 2^10 = 1024. The stages of bits 10 and up connect only
// elements of the same column: a block loads some whole columns, and does all these stages.
// The stages of bits 9 to 0 connect neighbours, across any edge of a tile. So a tile has a halo:
// the 512 elements on either side that its own elements are compared with are sorted along, and
// discarded afterwards. Their own tile sorts them as well.

constexpr unsigned kWideBits = 12;
constexpr unsigned kWide = 1U << kWideBits;  // elements of a wide tile, in shared memory
constexpr unsigned kRowBits = 10;
constexpr unsigned kMargin = 1U << (kRowBits - 1);        // of a window, on either side
constexpr unsigned kColumnLevels = kRowBits + kWideBits;  // highest level whose columns fit a tile
static_assert(kMargin % 64 == 0, "in_bank() takes pairs of rows of 32 words");

/// Where element i is in shared memory: every second row of 32 words is reversed. Then the left
/// ends of 32 neighbouring comparators are in 32 different banks, whatever the stage.
__host__ __device__ constexpr unsigned in_bank(unsigned i) { return i & 32 ? i ^ 31 : i; }

/// compare() in shared memory whose elements are arranged by in_bank().
__device__ void compare_in_bank(unsigned* keys, unsigned* values, unsigned left, unsigned right,
                                bool descending) {
  compare(keys, values, in_bank(left), in_bank(right), descending);
}

/// The stages of the bits high - 1, …, low of a level, in a tile that the block has in shared
/// memory and that has whole runs of this level. All threads of the block call it. At its
/// beginning the tile is complete only after the barrier in here, and after its end only after
/// another barrier.
__device__ void stages_in_tile(unsigned* keys, unsigned* values, unsigned level, unsigned high,
                               unsigned low, bool descending) {
  // TODO(6): as in TODO(3), with kWide / 2 comparators for kThreads threads. No guard for n:
  //          past it there are only whole runs of garbage, which are never stored.
  // BEGIN SOLUTION
#pragma unroll
  for (unsigned bit = high; bit-- > low;) {
    __syncthreads();  // the previous stage is complete (at first: the tile)
#pragma unroll
    for (unsigned round = 0; round < kWide / 2 / kThreads; ++round) {
      const unsigned left = left_end(round * kThreads + threadIdx.x, level, bit);
      const unsigned right = left + (1U << bit);
      if (in_one_run(left, right, level)) compare_in_bank(keys, values, left, right, descending);
    }
  }
  // END SOLUTION
}

constexpr unsigned kShortLevels = 6;  // arrays of 64: few enough stages to unroll them

/// The levels 1, …, last, which must not be above kWideBits.
__global__ void __launch_bounds__(kThreads) wide_levels(arrays_on_device data, unsigned last) {
  __shared__ unsigned keys[kWide], values[kWide];
  const std::size_t begin = std::size_t{blockIdx.x} * kWide;
  const bool pairs = data.values != nullptr;

  // TODO(6): as TODO(3), with stages_in_tile() and elements stored in_bank(). When it is right,
  //          unroll the levels up to kShortLevels: does that make short arrays faster?
  // BEGIN SOLUTION
  // STUB: // Replace these lines.
  // STUB: compare(keys, values, 0, 0, pairs);
  // STUB: stages_in_tile(keys, values, 0, 0, 0, false);
#pragma unroll
  for (unsigned round = 0; round < kWide / kThreads; ++round) {
    const unsigned i = round * kThreads + threadIdx.x;
    keys[in_bank(i)] = begin + i < data.n ? data.keys[begin + i] : 0;
    values[in_bank(i)] = pairs && begin + i < data.n ? data.values[begin + i] : 0;
  }
#pragma unroll  // level and bit become constants: less to compute for each comparator
  for (unsigned level = 1; level <= kShortLevels; ++level)
    if (level <= last) stages_in_tile(keys, values, level, level, 0, data.descending);
  for (unsigned level = kShortLevels + 1; level <= last; ++level)
    stages_in_tile(keys, values, level, level, 0, data.descending);
  __syncthreads();  // the last stage is complete
#pragma unroll
  for (unsigned round = 0; round < kWide / kThreads; ++round) {
    const unsigned i = round * kThreads + threadIdx.x;
    if (begin + i < data.n) data.keys[begin + i] = keys[in_bank(i)];
    if (pairs && begin + i < data.n) data.values[begin + i] = values[in_bank(i)];
  }
  // END SOLUTION
}

/// The stages of a level for the bits level - 1, …, kRowBits, in columns. A run has
/// 2^(level - kRowBits) rows; a tile is as many columns as fit, all of them from one run.
/// Requires kWideBits < level <= kColumnLevels.
__global__ void __launch_bounds__(kThreads) column_stages(arrays_on_device data, unsigned level) {
  __shared__ unsigned keys[kWide], values[kWide];
  const bool pairs = data.values != nullptr;
  const unsigned width_bits = kColumnLevels - level;  // log2 of the columns in a tile

  // TODO(7): element i of the tile is in its row i >> width_bits, and in the column with the lower
  //          bits of i. Where in global memory is that? The tiles of a run are side by side; then
  //          come those of the next run. In the tile itself, a column's rows are 2^width_bits
  //          apart: which level of a tile of kWide elements is that, and which of its bits?
  // BEGIN SOLUTION
  // STUB: compare(keys, values, 0, 0, pairs);  // replace this line
  const std::size_t run_bits = level - kWideBits;  // log2 of the tiles in a run
  const std::size_t run = std::size_t{blockIdx.x} >> run_bits;
  const std::size_t tile = blockIdx.x & ((std::size_t{1} << run_bits) - 1);
  const std::size_t begin = (run << level) + (tile << width_bits);
  const auto position = [&](unsigned i) {  // of the tile's element i in global memory
    const unsigned row = i >> width_bits, column = i & ((1U << width_bits) - 1);
    return begin + (std::size_t{row} << kRowBits) + column;
  };
#pragma unroll
  for (unsigned round = 0; round < kWide / kThreads; ++round) {
    const unsigned i = round * kThreads + threadIdx.x;
    keys[in_bank(i)] = data.keys[position(i)];
    values[in_bank(i)] = pairs ? data.values[position(i)] : 0;
  }
  stages_in_tile(keys, values, kWideBits, kWideBits, width_bits, data.descending);
  __syncthreads();  // the last stage is complete
#pragma unroll
  for (unsigned round = 0; round < kWide / kThreads; ++round) {
    const unsigned i = round * kThreads + threadIdx.x;
    data.keys[position(i)] = keys[in_bank(i)];
    if (pairs) data.values[position(i)] = values[in_bank(i)];
  }
  // END SOLUTION
}

/// The stages of a level for the bits kRowBits - 1, …, 0, from `data` to `out`: other blocks still
/// need the old elements near the edges of this one's tile. Requires level > kWideBits.
__global__ void __launch_bounds__(kThreads)
    window_stages(arrays_on_device data, arrays_on_device out, unsigned level) {
  __shared__ unsigned keys[kMargin + kWide + kMargin], values[kMargin + kWide + kMargin];
  const bool pairs = data.values != nullptr;
  const std::size_t begin = std::size_t{blockIdx.x} * kWide;  // of the tile, not of the window

  // TODO(8): load the window: the tile and kMargin elements on either side, as far as they exist.
  //          Do the stages; store only the tile.
  //          Invariant: before the stage `bit`, all elements up to 2^bit beyond the tile's edges
  //          are right. So the left ends go from 2^bit before the tile to its end.
  // BEGIN SOLUTION
  // STUB: compare(keys, values, 0, 0, pairs);  // replace this line
#pragma unroll
  for (unsigned round = 0; round < (kMargin + kWide + kMargin) / kThreads; ++round) {
    const unsigned i = round * kThreads + threadIdx.x;
    const bool there = begin + i >= kMargin && begin + i - kMargin < data.n;
    keys[in_bank(i)] = there ? data.keys[begin + i - kMargin] : 0;
    values[in_bank(i)] = there && pairs ? data.values[begin + i - kMargin] : 0;
  }
  const unsigned first =
      static_cast<unsigned>(begin) & ((1U << level) - 1);  // its position in its run
  for (unsigned bit = kRowBits; bit-- > 0;) {
    __syncthreads();  // the previous stage is complete (at first: the window)
    const unsigned distance = 1U << bit;
    for (unsigned number = threadIdx.x; number < kWide / 2 + distance; number += kThreads) {
      // The first ones are in the margin before the tile.
      const unsigned left = kMargin - distance + with_zero(number, bit);
      const bool before_run = first == 0 && left < kMargin;
      const bool behind_run = first + kWide == 1U << level && left + distance >= kMargin + kWide;
      if (!before_run && !behind_run)
        compare_in_bank(keys, values, left, left + distance, data.descending);
    }
  }
  __syncthreads();  // the last stage is complete
#pragma unroll
  for (unsigned round = 0; round < kWide / kThreads; ++round) {
    const unsigned i = round * kThreads + threadIdx.x;
    out.keys[begin + i] = keys[in_bank(kMargin + i)];
    if (pairs) out.values[begin + i] = values[in_bank(kMargin + i)];
  }
  // END SOLUTION
}

/// Like sort_in_shared_tiles(). Windows go from one copy of the arrays to the other: at the end
/// `data` is the one with the result, `spare` the other one.
unsigned sort_in_columns_and_windows(arrays_on_device& data, arrays_on_device& spare,
                                     unsigned levels) {
  // TODO(8): the levels up to kWideBits are one launch, each level above is one for the columns and
  //          one for the windows. Columns of more than kWide rows do not fit: above kColumnLevels,
  //          a global_stage() for each of their bits.
  // BEGIN SOLUTION
  // STUB: throw not_written("step columns_and_windows", 6);  // 6 to 8
  const unsigned blocks = blocks_for(data.n, kWide);
  wide_levels<<<blocks, kThreads>>>(data, std::min(levels, kWideBits));
  CUDA_CHECK(cudaGetLastError());
  unsigned launches = 1;
  for (unsigned level = kWideBits + 1; level <= levels; ++level) {
    if (level <= kColumnLevels) {
      column_stages<<<blocks, kThreads>>>(data, level);
      CUDA_CHECK(cudaGetLastError());
      ++launches;
    } else {
      for (unsigned bit = level; bit-- > kRowBits;) {
        global_stage<<<blocks_for(data.n, kTile), kThreads>>>(data, level, bit);
        CUDA_CHECK(cudaGetLastError());
        ++launches;
      }
    }
    window_stages<<<blocks, kThreads>>>(data, spare, level);
    CUDA_CHECK(cudaGetLastError());
    ++launches;
    std::swap(data, spare);
  }
  return launches;
  // END SOLUTION
}

}  // namespace

// --- given ---------------------------------------------------------------------------------------

result sort(step version, std::span<const std::uint32_t> keys,
            std::span<const std::uint32_t> values, batch arrays, direction order) {
  require_network_input("odd_even_merge_sort", keys, values, arrays);
  result out{{{keys.begin(), keys.end()}, {values.begin(), values.end()}}};
  const auto levels = static_cast<unsigned>(std::countr_zero(arrays.length));
  if (keys.empty() || levels == 0) return out;  // an array of one element is sorted

  device_buffer<unsigned> device_keys(keys.size()), device_values(values.size());
  const bool two_copies = version == step::columns_and_windows && levels > kWideBits;
  device_buffer<unsigned> spare_keys(two_copies ? keys.size() : 0);
  device_buffer<unsigned> spare_values(two_copies ? values.size() : 0);
  const bool descending = order == direction::descending;
  arrays_on_device data{}, spare{};

  out.kernel_ms = time_kernel(
      [&] {
        out.launches = version == step::shared_tiles
                           ? sort_in_shared_tiles(data, levels)
                           : sort_in_columns_and_windows(data, spare, levels);
      },
      [&] {
        device_keys.copy_from(keys);
        device_values.copy_from(values);
        data = {device_keys.data(), device_values.data(), keys.size(), descending};
        spare = {spare_keys.data(), spare_values.data(), keys.size(), descending};
      });
  const bool in_spare = data.keys != device_keys.data();
  (in_spare ? spare_keys : device_keys).copy_to(out.sorted.keys);
  (in_spare ? spare_values : device_values).copy_to(out.sorted.values);
  return out;
}

}  // namespace lab::odd_even_merge_sort
