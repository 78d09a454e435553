// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// columns_and_windows with tiles of 2048 elements.

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
  const Number at = with_zero(number, bit);
  return bit + 1 == level ? at : at + (Number{1} << bit);
}

/// Whether a comparator from `left` to `right` is part of level `level`: both are in one run.
template <class Number>
__device__ bool in_one_run(Number left, Number right, unsigned level) {
  return left >> level == right >> level;
}

/// A comparator on two elements in memory: exchanges them if they are out of order.
__device__ void compare(unsigned* keys, unsigned* values, std::size_t left, std::size_t right,
                        bool descending) {
  const unsigned a = keys[left], b = keys[right];
  if (descending ? a >= b : a <= b) return;
  keys[left] = b;
  keys[right] = a;
  if (values != nullptr) {
    const unsigned value = values[left];
    values[left] = values[right];
    values[right] = value;
  }
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
  const bool pairs = data.values != nullptr;
  const unsigned there = data.n - begin < kTile ? static_cast<unsigned>(data.n - begin) : kTile;
  for (unsigned i = threadIdx.x; i < there; i += kThreads) {
    keys[i] = data.keys[begin + i];
    if (pairs) values[i] = data.values[begin + i];
  }
  for (unsigned level = 1; level <= last; ++level)
    for (unsigned bit = level; bit-- > 0;) {
      __syncthreads();  // the previous stage is complete
      const unsigned left = left_end(threadIdx.x, level, bit), right = left + (1U << bit);
      if (right < there && in_one_run(left, right, level))
        compare(keys, pairs ? values : nullptr, left, right, data.descending);
    }
  __syncthreads();
  for (unsigned i = threadIdx.x; i < there; i += kThreads) {
    data.keys[begin + i] = keys[i];
    if (pairs) data.values[begin + i] = values[i];
  }
}

/// One stage in global memory: a comparator for each thread.
__global__ void __launch_bounds__(kThreads)
    global_stage(arrays_on_device data, unsigned level, unsigned bit) {
  const std::size_t number = std::size_t{blockIdx.x} * kThreads + threadIdx.x;
  const std::size_t left = left_end(number, level, bit), right = left + (std::size_t{1} << bit);
  if (right < data.n && in_one_run(left, right, level))
    compare(data.keys, data.values, left, right, data.descending);
}

/// Sorts. Returns the number of launches. `levels` is log2 of an array's length, not 0.
unsigned sort_in_shared_tiles(const arrays_on_device& data, unsigned levels) {
  small_levels<<<blocks_for(data.n, kTile), kThreads>>>(data, std::min(levels, kTileBits));
  CUDA_CHECK(cudaGetLastError());
  unsigned launches = 1;
  for (unsigned level = kTileBits + 1; level <= levels; ++level)
    for (unsigned bit = level; bit-- > 0; ++launches) {
      global_stage<<<blocks_for(data.n / 2, kThreads), kThreads>>>(data, level, bit);
      CUDA_CHECK(cudaGetLastError());
    }
  return launches;
}

// --- columns_and_windows -------------------------------------------------------------------------
// Arrange the elements of a run in rows of 2^10 = 1024. The stages of bits 10 and up connect only
// elements of the same column: a block loads some whole columns, and does all these stages.
// The stages of bits 9 to 0 connect neighbours, across any edge of a tile. So a tile has a halo:
// the 512 elements on either side that its own elements are compared with are sorted along, and
// discarded afterwards. Their own tile sorts them as well.

constexpr unsigned kWideBits = 11;
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
  for (unsigned bit = high; bit-- > low;) {
    __syncthreads();  // the previous stage is complete
    for (unsigned number = threadIdx.x; number < kWide / 2; number += kThreads) {
      const unsigned left = left_end(number, level, bit), right = left + (1U << bit);
      if (in_one_run(left, right, level)) compare_in_bank(keys, values, left, right, descending);
    }
  }
}

/// The levels 1, …, last, which must not be above kWideBits.
__global__ void __launch_bounds__(kThreads) wide_levels(arrays_on_device data, unsigned last) {
  __shared__ unsigned keys[kWide], values[kWide];
  const std::size_t begin = std::size_t{blockIdx.x} * kWide;
  const bool pairs = data.values != nullptr;
  const unsigned there = data.n - begin < kWide ? static_cast<unsigned>(data.n - begin) : kWide;
  for (unsigned i = threadIdx.x; i < there; i += kThreads) {
    keys[in_bank(i)] = data.keys[begin + i];
    if (pairs) values[in_bank(i)] = data.values[begin + i];
  }
  if (last == 1) {
    stages_in_tile(keys, pairs ? values : nullptr, 1, 1, 0, data.descending);
  } else {
    for (unsigned level = 1; level <= last; ++level)
      stages_in_tile(keys, pairs ? values : nullptr, level, level, 0, data.descending);
  }
  __syncthreads();
  for (unsigned i = threadIdx.x; i < there; i += kThreads) {
    data.keys[begin + i] = keys[in_bank(i)];
    if (pairs) data.values[begin + i] = values[in_bank(i)];
  }
}

/// The stages of a level for the bits level - 1, …, kRowBits, in columns. A run has
/// 2^(level - kRowBits) rows; a tile is as many columns as fit, all of them from one run.
/// Requires kWideBits < level <= kColumnLevels.
__global__ void __launch_bounds__(kThreads) column_stages(arrays_on_device data, unsigned level) {
  __shared__ unsigned keys[kWide], values[kWide];
  const bool pairs = data.values != nullptr;
  const unsigned width_bits = kColumnLevels - level;  // log2 of the columns in a tile
  const unsigned tiles_bits = kRowBits - width_bits;  // log2 of the tiles of a run
  const std::size_t run = blockIdx.x >> tiles_bits, tile = blockIdx.x & ((1U << tiles_bits) - 1);
  const std::size_t begin = (run << level) + (tile << width_bits);
  const auto position = [&](unsigned i) {
    return begin + (std::size_t{i >> width_bits} << kRowBits) + (i & ((1U << width_bits) - 1));
  };
  for (unsigned i = threadIdx.x; i < kWide; i += kThreads) {
    keys[in_bank(i)] = data.keys[position(i)];
    if (pairs) values[in_bank(i)] = data.values[position(i)];
  }
  stages_in_tile(keys, pairs ? values : nullptr, kWideBits, kWideBits, width_bits, data.descending);
  __syncthreads();
  for (unsigned i = threadIdx.x; i < kWide; i += kThreads) {
    data.keys[position(i)] = keys[in_bank(i)];
    if (pairs) data.values[position(i)] = values[in_bank(i)];
  }
}

/// The stages of a level for the bits kRowBits - 1, …, 0, from `data` to `out`: other blocks still
/// need the old elements near the edges of this one's tile. Requires level > kWideBits.
__global__ void __launch_bounds__(kThreads)
    window_stages(arrays_on_device data, arrays_on_device out, unsigned level) {
  __shared__ unsigned keys[kMargin + kWide + kMargin], values[kMargin + kWide + kMargin];
  const bool pairs = data.values != nullptr;
  const std::size_t begin = std::size_t{blockIdx.x} * kWide;  // of the tile, not of the window
  // Element i of the window is begin - kMargin + i. Before element 0 that wraps around, past n.
  for (unsigned i = threadIdx.x; i < kMargin + kWide + kMargin; i += kThreads) {
    const std::size_t at = begin - kMargin + i;
    if (at >= data.n) continue;
    keys[in_bank(i)] = data.keys[at];
    if (pairs) values[in_bank(i)] = data.values[at];
  }
  for (unsigned bit = kRowBits; bit-- > 0;) {
    __syncthreads();
    for (unsigned k = threadIdx.x; k < kWide / 2 + (1U << bit); k += kThreads) {
      const unsigned left = kMargin + with_zero(k, bit) - (1U << bit), right = left + (1U << bit);
      const std::size_t at = begin - kMargin + left, partner = begin - kMargin + right;
      if (in_one_run(at, partner, level))
        compare_in_bank(keys, pairs ? values : nullptr, left, right, data.descending);
    }
  }
  __syncthreads();
  for (unsigned i = threadIdx.x; i < kWide; i += kThreads) {
    out.keys[begin + i] = keys[in_bank(kMargin + i)];
    if (pairs) out.values[begin + i] = values[in_bank(kMargin + i)];
  }
}

/// Like sort_in_shared_tiles(). Windows go from one copy of the arrays to the other: at the end
/// `data` is the one with the result, `spare` the other one.
unsigned sort_in_columns_and_windows(arrays_on_device& data, arrays_on_device& spare,
                                     unsigned levels) {
  wide_levels<<<blocks_for(data.n, kWide), kThreads>>>(data, std::min(levels, kWideBits));
  CUDA_CHECK(cudaGetLastError());
  unsigned launches = 1;
  for (unsigned level = kWideBits + 1; level <= levels; ++level) {
    if (level <= kColumnLevels) {
      column_stages<<<blocks_for(data.n, kWide), kThreads>>>(data, level);
      CUDA_CHECK(cudaGetLastError());
      ++launches;
    } else {
      for (unsigned bit = level; bit-- > kRowBits; ++launches) {
        global_stage<<<blocks_for(data.n / 2, kThreads), kThreads>>>(data, level, bit);
        CUDA_CHECK(cudaGetLastError());
      }
    }
    window_stages<<<blocks_for(data.n, kWide), kThreads>>>(data, spare, level);
    CUDA_CHECK(cudaGetLastError());
    ++launches;
    std::swap(data, spare);
  }
  return launches;
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
