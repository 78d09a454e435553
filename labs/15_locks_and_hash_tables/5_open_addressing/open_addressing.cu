// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 15.5 open_addressing: thousands of threads insert into one table, search it and erase from it.
// Edit:  this file, from TODO(1) to TODO(8). open_addressing.hpp has the contract.
// Run:   scripts/lab run 15.5 -- --step packed    (then wide)
// Test:  scripts/lab test 15.5, and scripts/lab check 15.5, which finds hidden races
// Hints: scripts/lab hint 15.5                    Chapter: docs/15_locks_and_hash_tables.md

#include <cuda_runtime.h>

#include "given.hpp"

namespace lab::open_addressing {
namespace {

// A table is one array of slots; kWindow slots that are next to each other are a window. For a key
// that has a slot, this is always true:
//
//      home         second         …   its own        The slots that probe() visits before its own
//      [k k x k]    [k x k k]          [k KEY - -]    are not empty (-): they have other keys (k),
//                                                     some of them as tombstones (x).
//
// So a thread that reaches an empty slot knows that the key is not in the table.

template <class Slot>
void make_empty(device_buffer<Slot>& table) {
  // TODO(1): all slots are empty: the key is kNone, and so is the value. cudaMemset sets bytes:
  //          which ones?
  throw not_written("the table", 1);  // 1 to 6 are step packed, 7 and 8 are step wide
}

/// Calls look(index) for the slots in which the key may be, one after the other, until it returns
/// true. Returns whether it did.
template <class Number, class Look>
__device__ bool probe(Number key, unsigned windows, const Look& look) {
  // TODO(2): begin with the window home_of(); each one after it is stride_of() further on, and the
  //          last window of the table is followed by the first. Visit every window once. In each of
  //          them, begin with slot first_slot_of(); slot 3 is followed by slot 0.
  return false;
}

template <class Slot>
struct hit {
  Slot* slot = nullptr;  ///< null: no slot has the key
  typename Slot::number value = kNothing<typename Slot::number>;
};

/// Slot is const if no thread changes the table meanwhile.
template <class Slot, class Number = typename Slot::number>
__device__ hit<Slot> search(Slot* table, unsigned windows, Number key) {
  hit<Slot> found;
  // TODO(3): probe until look() finds the key, or a slot that shows that it is not there.
  return found;
}

template <class Slot, class Number = typename Slot::number>
__global__ void insert_all(const Number* keys, const Number* values, std::size_t n, Slot* table,
                           unsigned windows, word* without_slot) {
  // TODO(4): this thread takes the key at its index in the grid, and probes until it can enter() it
  //          with its value. Keys for which no slot is left are counted with atomicAdd().
}

template <class Slot, class Number = typename Slot::number>
__global__ void find_all(const Number* keys, std::size_t n, const Slot* table, unsigned windows,
                         Number* values) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < n) values[i] = search(table, windows, keys[i]).value;
}

template <class Slot, class Number = typename Slot::number>
__global__ void erase_all(const Number* keys, std::size_t n, Slot* table, unsigned windows) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= n) return;
  if (Slot* const slot = search(table, windows, keys[i]).slot) slot->bury();
}

// --- packed: key and value are one word, which one atomic operation can write --------------------

struct packed {
  using number = std::uint32_t;
  word both;  // pack(key, value); in an empty slot all bits are 1

  __device__ entry<number> look() const { return {key_of(both), value_of(both)}; }
  __device__ entry<number> look() {
    const word seen = load(both);
    return {key_of(seen), value_of(seen)};
  }

  /// Stores key and value in this slot. False: it has another key, and is not changed.
  __device__ bool enter(number key, number value) {
    // TODO(5): if the slot looks empty (load()), atomicCAS() claims it. If it is not empty, perhaps
    //          since a moment ago, does it have the same key? Then keep the smaller value:
    //          atomicMin() compares whole words, whose upper halves are equal.
    return true;
  }

  /// Makes this slot a tombstone.
  __device__ void bury() {
    // TODO(6): the key stays, and its value becomes kNone. Why must the slot not become empty?
    //          Other threads read it meanwhile: which atomic function sets bits?
    //          When it works, compare --load 0.5 with --load 0.95.
  }
};

// --- wide: two words, so there is a moment when the key is in the slot and its value is not ------
// Requires that this looks like a tombstone: the value of an empty slot is kNone.

struct alignas(16) wide {  // so that one load can read both
  using number = word;
  word key_here;
  word value_here;

  __device__ entry<number> look() const { return {key_here, value_here}; }
  __device__ entry<number> look() { return {load(key_here), load(value_here)}; }

  __device__ bool enter(number key, number value) {
    // TODO(7): claim the slot for the key. In a slot that has the key, no matter which thread
    //          claimed it, keep the smaller value. Why is `value_here = value` wrong even for the
    //          thread that has just claimed the slot?
    return true;
  }

  __device__ void bury() {
    // TODO(8): the same as TODO(6). Two threads may erase the same key.
  }
};

// --- given ---------------------------------------------------------------------------------------

template <class Slot>
applied apply(std::size_t slots, std::span<const batch> batches) {
  device_buffer<Slot> table(std::size_t{windows_for(slots)} * kWindow);
  make_empty(table);
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
