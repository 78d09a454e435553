// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// A thread has a whole window in registers before it looks at a slot, and begins with slot 0; the
// windows are in quadratic order first, then one after the other. A kernel empties the table.

#include <cuda_runtime.h>

#include <type_traits>

#include "given.hpp"

namespace lab::open_addressing {
namespace {

constexpr unsigned kJumps = 16;

/// Window number `k` that a search visits: kJumps triangular numbers from home, then all windows.
template <class Number>
__device__ std::size_t window_at(Number key, unsigned windows, unsigned k) {
  const std::size_t jump = std::size_t{k} * (k + 1) / 2 * stride_of(key, windows);
  return (home_of(key, windows) + (k < kJumps ? jump : k - kJumps)) % windows;
}

template <class Number>
struct window {
  entry<Number> slots[kWindow];
};

struct packed {
  using number = std::uint32_t;
  word both;

  __device__ static window<number> load_all(const packed* four) {
    const auto* pairs = reinterpret_cast<const ulonglong2*>(four);
    const ulonglong2 a = pairs[0], b = pairs[1];
    return {{{key_of(a.x), value_of(a.x)},
             {key_of(a.y), value_of(a.y)},
             {key_of(b.x), value_of(b.x)},
             {key_of(b.y), value_of(b.y)}}};
  }
  __device__ static window<number> load_all(packed* four) {
    window<number> w;
    for (unsigned s = 0; s < kWindow; ++s) {
      const word now = load(four[s].both);
      w.slots[s] = {key_of(now), value_of(now)};
    }
    return w;
  }
  __device__ bool enter(number key, number value) {
    const word seen = atomicCAS(&both, kNothing<word>, pack(key, value));
    if (key_of(seen) == key) atomicMin(&both, pack(key, value));
    return seen == kNothing<word> || key_of(seen) == key;
  }
  __device__ void bury() { atomicMax(&both, pack(key_of(load(both)), kNothing<number>)); }
};

struct alignas(16) wide {
  using number = word;
  word key_here, value_here;

  __device__ static window<number> load_all(const wide* four) {
    window<number> w;
    for (unsigned s = 0; s < kWindow; ++s) {
      const ulonglong2 both = reinterpret_cast<const ulonglong2*>(four)[s];
      w.slots[s] = {both.x, both.y};
    }
    return w;
  }
  __device__ static window<number> load_all(wide* four) {
    window<number> w;
    for (unsigned s = 0; s < kWindow; ++s) w.slots[s] = {load(four[s].key_here), 0};
    return w;
  }
  __device__ bool enter(number key, number value) {
    const word seen = atomicCAS(&key_here, kNothing<word>, key);
    const bool ours = seen == kNothing<word> || seen == key;
    if (ours) atomicMin(&value_here, value);
    return ours;
  }
  __device__ void bury() { atomicMax(&value_here, kNothing<word>); }
};

/// Calls look(slot, the entry that was seen in it) until look returns true.
template <class Slot, class Number, class Look>
__device__ bool search(Slot* table, unsigned windows, Number key, const Look& look) {
  const unsigned most = windows + kJumps;
  for (unsigned k = 0; k < most; ++k) {
    Slot* const four = table + window_at(key, windows, k) * kWindow;
    const window<Number> seen = std::remove_const_t<Slot>::load_all(four);
#pragma unroll
    for (unsigned s = 0; s < kWindow; ++s)
      if (look(four[s], seen.slots[s])) return true;
  }
  return false;
}

template <class Slot, class Number = typename Slot::number>
__global__ void insert_all(const Number* keys, const Number* values, std::size_t n, Slot* table,
                           unsigned windows, word* without_slot) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const bool entered = search(table, windows, keys[i], [&](Slot& slot, entry<Number> seen) {
    return (seen.key == keys[i] || seen.key == kNothing<Number>)&&slot.enter(keys[i], values[i]);
  });
  if (!entered) atomicAdd(without_slot, word{1});
}

template <class Slot, class Number = typename Slot::number>
__global__ void find_all(const Number* keys, std::size_t n, const Slot* table, unsigned windows,
                         Number* values) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= n) return;
  values[i] = kNothing<Number>;
  search(table, windows, keys[i], [&](const Slot&, entry<Number> seen) {
    if (seen.key == keys[i]) values[i] = seen.value;
    return seen.key == keys[i] || seen.key == kNothing<Number>;
  });
}

template <class Slot, class Number = typename Slot::number>
__global__ void erase_all(const Number* keys, std::size_t n, Slot* table, unsigned windows) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= n) return;
  search(table, windows, keys[i], [&](Slot& slot, entry<Number> seen) {
    if (seen.key == keys[i]) slot.bury();
    return seen.key == keys[i] || seen.key == kNothing<Number>;
  });
}

__global__ void clear(uint4* memory, std::size_t n) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  constexpr unsigned kOnes = 0xFFFF'FFFF;
  if (i < n) memory[i] = {kOnes, kOnes, kOnes, kOnes};
}

template <class Slot>
applied apply(std::size_t slots, std::span<const batch> batches) {
  device_buffer<Slot> table(std::size_t{windows_for(slots)} * kWindow);
  const std::size_t sixteens = table.size_bytes() / sizeof(uint4);
  clear<<<blocks_for(sixteens), kThreads>>>(reinterpret_cast<uint4*>(table.data()), sixteens);
  CUDA_CHECK(cudaGetLastError());
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
