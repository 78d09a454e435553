// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Double hashing from slot to slot, without windows, with another hash function.

#include <cuda_runtime.h>

#include <cuda/atomic>

#include "given.hpp"

namespace lab::open_addressing {
namespace {

using shared_word = cuda::atomic_ref<word, cuda::thread_scope_device>;

/// Each bit of the result depends on each bit of the key.
__device__ word mixed(word key) {
  key = (key ^ key >> 33) * 0xFF51'AFD7'ED55'8CCD;
  key = (key ^ key >> 33) * 0xC4CE'B9FE'1A85'EC53;
  return key ^ key >> 33;
}

/// The slots in which a key may be, in their order. Their number is four times a prime, or 4: an
/// odd distance that the prime does not divide visits all of them.
class path {
 public:
  __device__ path(word key, unsigned windows) : left_(std::size_t{windows} * kWindow) {
    const word bits = mixed(key);
    slots_ = left_;
    here_ = (bits >> 32) % slots_;
    apart_ = 2 * ((bits & 0xFFFF'FFFF) % (slots_ / 2)) + 1;
    while (windows > 1 && apart_ % windows == 0) apart_ += 2;
  }
  __device__ explicit operator bool() const { return left_ > 0; }
  __device__ std::size_t operator*() const { return here_; }
  __device__ void operator++() {
    here_ = (here_ + apart_) % slots_;
    --left_;
  }

 private:
  std::size_t left_, slots_, here_, apart_;
};

struct packed {
  using number = std::uint32_t;
  word both;

  __device__ entry<number> look() const { return {key_of(both), value_of(both)}; }
  __device__ bool enter(number key, number value) {
    const shared_word slot(both);
    word seen = slot.load(cuda::memory_order_relaxed);
    const word mine = pack(key, value);
    // An empty slot is a larger word than all others.
    while (seen == kNothing<word> || key_of(seen) == key) {
      if (seen <= mine) return true;
      if (slot.compare_exchange_weak(seen, mine, cuda::memory_order_relaxed)) return true;
    }
    return false;
  }
  /// Returns whether the search is over.
  __device__ bool bury(number key) {
    const word seen = load(both);
    if (key_of(seen) == key) shared_word(both).store(pack(key, kNothing<number>));
    return key_of(seen) == key || seen == kNothing<word>;
  }
};

struct alignas(16) wide {
  using number = word;
  word key_here, value_here;

  __device__ entry<number> look() const { return {key_here, value_here}; }
  __device__ bool enter(number key, number value) {
    word seen = kNothing<word>;
    if (!shared_word(key_here).compare_exchange_strong(seen, key, cuda::memory_order_relaxed) &&
        seen != key)
      return false;
    shared_word(value_here).fetch_min(value, cuda::memory_order_relaxed);
    return true;
  }
  __device__ bool bury(number key) {
    const word seen = load(key_here);
    if (seen == key) shared_word(value_here).fetch_or(kNothing<word>, cuda::memory_order_relaxed);
    return seen == key || seen == kNothing<word>;
  }
};

template <class Slot, class Number = typename Slot::number>
__global__ void insert_all(const Number* keys, const Number* values, std::size_t n, Slot* table,
                           unsigned windows, word* without_slot) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= n) return;
  for (path p(keys[i], windows); p; ++p)
    if (table[*p].enter(keys[i], values[i])) return;
  atomicAdd(without_slot, word{1});
}

template <class Slot, class Number = typename Slot::number>
__global__ void find_all(const Number* keys, std::size_t n, const Slot* table, unsigned windows,
                         Number* values) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= n) return;
  Number value = kNothing<Number>;
  for (path p(keys[i], windows); p; ++p) {
    const entry<Number> seen = table[*p].look();
    if (seen.key == keys[i]) value = seen.value;
    if (seen.key == keys[i] || seen.key == kNothing<Number>) break;
  }
  values[i] = value;
}

template <class Slot, class Number = typename Slot::number>
__global__ void erase_all(const Number* keys, std::size_t n, Slot* table, unsigned windows) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= n) return;
  for (path p(keys[i], windows); p; ++p)
    if (table[*p].bury(keys[i])) return;
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
