// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 15.5 open_addressing: the contract. What the program and the tests expect of open_addressing.cu.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace lab::open_addressing {

/// Keys of the program's table, and keys for each slot, unless it is told otherwise.
inline constexpr std::size_t kDefaultSize = 256 * 1024;
inline constexpr double kDefaultLoad = 0.5;

enum class step {
  packed,  ///< keys and values of 32 bits: a slot is one word, and one atomicCAS writes all of it
  wide,    ///< keys and values of 64 bits: a slot is two words; atomicCAS claims it for the key
};

/// A key, and a value, that no entry may have. As the answer to a search: the key is not there.
inline constexpr std::uint64_t kNone = 0xFFFF'FFFF'FFFF'FFFF;

/// The largest key and the largest value.
constexpr std::uint64_t largest(step version) {
  return version == step::packed ? 0xFFFF'FFFE : kNone - 1;
}

/// The most slots that a table may be asked for.
inline constexpr std::size_t kMostSlots = 0xFFFF'FFFF;

/// What is done with all keys of a batch, in one kernel.
enum class operation {
  insert,  ///< a key that is in the table, or in the batch again, keeps the smallest of its values
  find,    ///< the value of each key
  erase,   ///< a key that is not in the table is passed over
};

struct batch {
  operation op;
  std::vector<std::uint64_t> keys;
  std::vector<std::uint64_t> values;  ///< of insert: one for each key; of the others: none
};

struct applied {
  /// One for each batch. Of find: for each key its value, or kNone; of the others: empty.
  std::vector<std::vector<std::uint64_t>> found;
  float kernel_ms = 0;  ///< the time of the last batch's kernel
};

/// Makes a table with `slots` slots (rounded up to windows of four, whose number is a prime) and
/// applies the batches to it, one after the other. A slot has room for one key and its value, and
/// no key gets a second one. The table is never rebuilt: an erased key leaves a tombstone in its
/// slot, and only the same key can be inserted there again.
///
/// A batch begins when the one before it is over, so a search sees insertions as a whole. If it ran
/// at the same time, a key of step wide could be in its slot before its value: it would then be
/// found with the value kNone, which means not there. In step packed both arrive together.
///
/// Throws lab::invalid_input when there are no slots or more than kMostSlots, when a batch has a
/// key or a value above largest(version) or not the right number of values, and when a key to be
/// inserted finds no slot: the message says that the table is full, and how many keys of the batch
/// found none; lab::cuda_error when CUDA reports an error. Neither leaves device memory behind.
///
/// Requires: for each batch a kernel whose threads share the keys; no locks, so slots are changed
/// by atomic functions only, and no word is changed by all threads; and searches that soon end: in
/// a table that is 95 % full, a key that is not there looks at fewer than 80 slots on average.
///
/// From: ours. Windows of slots and double hashing are ideas of cuCollections (D. Juenger et al.,
/// WarpCore, 2020); the tombstone that keeps its key is ours.
applied apply_batches(step version, std::size_t slots, std::span<const batch> batches);

}  // namespace lab::open_addressing
