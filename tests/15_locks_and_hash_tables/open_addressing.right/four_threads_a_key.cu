// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Four threads work together on a key, one for each slot of a window: they vote on which of them
// sees the key, and which sees an empty slot. They take their four keys in turn.

#include <cooperative_groups.h>
#include <cuda_runtime.h>

#include "given.hpp"

namespace lab::open_addressing {
namespace {

namespace cg = cooperative_groups;

struct packed {
  using number = std::uint32_t;
  word both;

  __device__ number key() const { return key_of(both); }
  __device__ number key_now() { return key_of(load(both)); }
  __device__ number value() const { return value_of(both); }
  __device__ void merge(number key, number value) { atomicMin(&both, pack(key, value)); }
  __device__ bool claim(number key, number value) {
    const word seen = atomicCAS(&both, kNothing<word>, pack(key, value));
    if (seen == kNothing<word>) return true;
    if (key_of(seen) != key) return false;
    merge(key, value);
    return true;
  }
  __device__ void bury() { atomicOr(&both, word{kNothing<number>}); }
};

struct alignas(16) wide {
  using number = word;
  word key_here, value_here;

  __device__ number key() const { return key_here; }
  __device__ number key_now() { return load(key_here); }
  __device__ number value() const { return value_here; }
  __device__ void merge(number, number value) { atomicMin(&value_here, value); }
  __device__ bool claim(number key, number value) {
    const word seen = atomicCAS(&key_here, kNothing<word>, key);
    if (seen != kNothing<word> && seen != key) return false;
    merge(key, value);
    return true;
  }
  __device__ void bury() { atomicExch(&value_here, kNothing<word>); }
};

/// All threads of a tile call work(tile, key, i), once for each key that a thread of the tile has.
template <class Number, class Work>
__device__ void for_each_key(const Number* keys, std::size_t n, const Work& work) {
  const auto tile = cg::tiled_partition<kWindow>(cg::this_thread_block());
  const std::size_t first = cg::this_grid().thread_rank() - tile.thread_rank();
  for (std::size_t i = first; i < first + kWindow && i < n; ++i) work(tile, keys[i], i);
}

/// Calls visit(slot) with this thread's slot of each window, until visit returns true.
template <class Tile, class Slot, class Number, class Visit>
__device__ bool windows_of(const Tile& tile, Slot* table, unsigned windows, Number key,
                           const Visit& visit) {
  std::size_t window = home_of(key, windows);
  for (unsigned seen = 0; seen < windows; ++seen) {
    if (visit(table[window * kWindow + tile.thread_rank()])) return true;
    if (windows > 1) window = (window + stride_of(key, windows)) % windows;
  }
  return false;
}

template <class Slot, class Number = typename Slot::number>
__global__ void insert_all(const Number* keys, const Number* values, std::size_t n, Slot* table,
                           unsigned windows, word* without_slot) {
  for_each_key(keys, n, [&](const auto& tile, Number key, std::size_t i) {
    const unsigned rank = tile.thread_rank();
    const bool entered = windows_of(tile, table, windows, key, [&](Slot& slot) {
      for (;;) {
        const Number seen = slot.key_now();
        if (tile.any(seen == key)) {
          if (seen == key) slot.merge(key, values[i]);
          return true;
        }
        const unsigned empty = tile.ballot(seen == kNothing<Number>);
        if (empty == 0) return false;
        const auto first = static_cast<unsigned>(__ffs(static_cast<int>(empty))) - 1;
        if (tile.any(rank == first && slot.claim(key, values[i]))) return true;
      }
    });
    if (!entered && rank == 0) atomicAdd(without_slot, word{1});
  });
}

template <class Slot, class Number = typename Slot::number>
__global__ void find_all(const Number* keys, std::size_t n, const Slot* table, unsigned windows,
                         Number* values) {
  for_each_key(keys, n, [&](const auto& tile, Number key, std::size_t i) {
    unsigned lane = 0;
    Number value = kNothing<Number>;
    windows_of(tile, table, windows, key, [&](const Slot& slot) {
      lane = tile.ballot(slot.key() == key);
      if (slot.key() == key) value = slot.value();
      return lane != 0 || tile.any(slot.key() == kNothing<Number>);
    });
    if (lane == 0 ? tile.thread_rank() == 0 : (lane >> tile.thread_rank() & 1) != 0)
      values[i] = value;
  });
}

template <class Slot, class Number = typename Slot::number>
__global__ void erase_all(const Number* keys, std::size_t n, Slot* table, unsigned windows) {
  for_each_key(keys, n, [&](const auto& tile, Number key, std::size_t) {
    windows_of(tile, table, windows, key, [&](Slot& slot) {
      const Number seen = slot.key_now();
      if (seen == key) slot.bury();
      return tile.any(seen == key || seen == kNothing<Number>);
    });
  });
}

template <class Slot>
applied apply(std::size_t slots, std::span<const batch> batches) {
  device_buffer<Slot> table(std::size_t{windows_for(slots)} * kWindow);
  CUDA_CHECK(cudaMemset(table.data(), 0xFF, table.size_bytes()));
  const kernels<Slot> by{insert_all<Slot>, find_all<Slot>, erase_all<Slot>};
  applied result;
  for (const batch& b : batches)
    result.found.push_back(
        apply_one(b, by, table, &b == &batches.back() ? &result.kernel_ms : nullptr));
  return result;
}

}  // namespace

applied apply_batches(step version, std::size_t slots, std::span<const batch> batches) {
  refuse_wrong(version, slots, batches);
  return version == step::packed ? apply<packed>(slots, batches) : apply<wide>(slots, batches);
}

}  // namespace lab::open_addressing
