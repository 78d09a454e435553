// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 14.1 bitonic_sort: what bitonic_sort.cu starts from. There is nothing to do in here.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include "bitonic_sort.hpp"
#include "lab/cuda_check.hpp"
#include "lab/device_buffer.hpp"
#include "lab/errors.hpp"
#include "lab/time_kernel.hpp"

namespace lab::bitonic_sort {

/// What all kernels are told about the data.
struct arrays_on_device {
  unsigned* keys;
  unsigned* values;  // null where there are only keys
  std::size_t n;     // elements of all arrays together
  unsigned length;   // of an array: a power of two
  bool descending;   // what the caller asked for
};

/// `number` with `zeros` bits that are 0 put in at bit `at`: the number's upper bits move up.
/// With one zero: the left end of comparator `number` of the stage `at`.
template <class Number>
__host__ __device__ constexpr Number with_zeros(Number number, unsigned at, unsigned zeros) {
  const Number lower = number & ((Number{1} << at) - 1);
  return ((number ^ lower) << zeros) | lower;
}

/// Blocks for n elements, of which each block does `of_block`.
inline unsigned blocks_for(std::size_t n, std::size_t of_block) {
  return static_cast<unsigned>((n + of_block - 1) / of_block);
}

// --- shared_tiles --------------------------------------------------------------------------------

constexpr unsigned kTileBits = 10;
constexpr unsigned kTile = 1U << kTileBits;  // elements that a block keeps in shared memory
constexpr unsigned kThreads = kTile / 2;

// --- registers -----------------------------------------------------------------------------------

constexpr unsigned kBits = 4;
constexpr unsigned kHeld = 1U << kBits;  // elements of a thread
constexpr unsigned kWideBits = 12;
constexpr unsigned kWide = 1U << kWideBits;  // elements of a block, in shared memory
constexpr unsigned kWideThreads = kWide / kHeld;

/// Where element i of a tile is in shared memory: a word is left out after 32, so that threads
/// that walk along 16 neighbours each are in different banks.
__host__ __device__ constexpr unsigned padded(unsigned i) { return i + i / 32; }

/// What a block has in shared memory, and what a thread has in registers. Where there are only keys
/// (kPairs is false), nobody reads or writes the values, and the compiler leaves them out.
struct wide_tile {
  unsigned keys[padded(kWide)], values[padded(kWide)];
};
struct held {
  unsigned key[kHeld], value[kHeld];
};

/// For stages_in_registers(), above level kBits: there the bit that says whether a run falls is not
/// among the four, so a thread's 16 elements have one direction.
struct one_direction {
  bool falling;
  __device__ bool operator()(unsigned /*left*/) const { return falling; }
};

/// The 16 elements of the tile at `position`, 2^low after it, 2 * 2^low after it, …
template <bool kPairs>
__device__ held taken(const wide_tile& from, unsigned position, unsigned low) {
  held mine = {};
#pragma unroll
  for (unsigned i = 0; i < kHeld; ++i) {
    const unsigned at = padded(position + (i << low));
    mine.key[i] = from.keys[at];
    if constexpr (kPairs) mine.value[i] = from.values[at];
  }
  return mine;
}
template <bool kPairs>
__device__ void put(const held& mine, wide_tile& to, unsigned position, unsigned low) {
#pragma unroll
  for (unsigned i = 0; i < kHeld; ++i) {
    const unsigned at = padded(position + (i << low));
    to.keys[at] = mine.key[i];
    if constexpr (kPairs) to.values[at] = mine.value[i];
  }
}

/// The same, in global memory, where all of them must exist.
template <bool kPairs>
__device__ held taken(const arrays_on_device& from, std::size_t position, unsigned low) {
  held mine = {};
#pragma unroll
  for (unsigned i = 0; i < kHeld; ++i) {
    const std::size_t at = position + (std::size_t{i} << low);
    mine.key[i] = from.keys[at];
    if constexpr (kPairs) mine.value[i] = from.values[at];
  }
  return mine;
}
template <bool kPairs>
__device__ void put(const held& mine, const arrays_on_device& to, std::size_t position,
                    unsigned low) {
#pragma unroll
  for (unsigned i = 0; i < kHeld; ++i) {
    const std::size_t at = position + (std::size_t{i} << low);
    to.keys[at] = mine.key[i];
    if constexpr (kPairs) to.values[at] = mine.value[i];
  }
}

/// Brings the tile that begins at `begin` into shared memory. The last one may overhang: zeros. All
/// loads are on their way before the first number is needed.
template <bool kPairs>
__device__ void load_tile(wide_tile& tile, const arrays_on_device& data, std::size_t begin) {
  held mine = {};
#pragma unroll
  for (unsigned round = 0; round < kHeld; ++round) {
    const std::size_t at = begin + round * kWideThreads + threadIdx.x;
    if (at < data.n) mine.key[round] = data.keys[at];
    if (kPairs && at < data.n) mine.value[round] = data.values[at];
  }
#pragma unroll
  for (unsigned round = 0; round < kHeld; ++round) {
    const unsigned i = round * kWideThreads + threadIdx.x;
    tile.keys[padded(i)] = mine.key[round];
    if constexpr (kPairs) tile.values[padded(i)] = mine.value[round];
  }
}

/// Puts it back, without what is past the end.
template <bool kPairs>
__device__ void store_tile(const wide_tile& tile, const arrays_on_device& data, std::size_t begin) {
#pragma unroll
  for (unsigned round = 0; round < kHeld; ++round) {
    const unsigned i = round * kWideThreads + threadIdx.x;
    if (begin + i >= data.n) continue;
    data.keys[begin + i] = tile.keys[padded(i)];
    if constexpr (kPairs) data.values[begin + i] = tile.values[padded(i)];
  }
}

// --- the host ------------------------------------------------------------------------------------

/// sort(), where sort_on_device(data, levels) sorts and returns how many launches that took.
inline result host_part_of_sort(unsigned (*sort_on_device)(const arrays_on_device&, unsigned),
                                std::span<const std::uint32_t> keys,
                                std::span<const std::uint32_t> values, batch arrays,
                                direction order) {
  require_network_input("bitonic_sort", keys, values, arrays);
  result out{{{keys.begin(), keys.end()}, {values.begin(), values.end()}}};
  const auto levels = static_cast<unsigned>(std::countr_zero(arrays.length));
  if (keys.empty() || levels == 0) return out;  // an array of one element is sorted

  device_buffer<unsigned> device_keys(keys.size()), device_values(values.size());
  const arrays_on_device data{device_keys.data(), device_values.data(), keys.size(),
                              static_cast<unsigned>(arrays.length), order == direction::descending};
  out.kernel_ms = time_kernel([&] { out.launches = sort_on_device(data, levels); },
                              [&] {
                                device_keys.copy_from(keys);
                                device_values.copy_from(values);
                              });
  device_keys.copy_to(out.sorted.keys);  // waits until the kernels are done
  device_values.copy_to(out.sorted.values);
  return out;
}

}  // namespace lab::bitonic_sort
