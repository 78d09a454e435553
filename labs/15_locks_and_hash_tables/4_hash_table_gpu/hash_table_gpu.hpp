// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 15.4 hash_table_gpu: the contract. What the program and the tests expect of hash_table_gpu.cu.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "../3_hash_table_cpu/hash_table_cpu.hpp"

namespace lab::hash_table_gpu {

using hash_table_cpu::entry;
using hash_table_cpu::kEnd;
using hash_table_cpu::table;  // what 15.3 builds; the order within a chain is free

enum class step {
  locks,      ///< a lock for each bucket; entries linked by pointers, which the host relocates
  lock_free,  ///< one atomicExch a key; entries linked by numbers, which are right everywhere
  open_addressing,  ///< no chains: keys and values in one array of slots; see apply_batches()
};

struct result {
  table built;
  float kernel_ms = 0;  ///< the time of the kernel alone
  float whole_ms = 0;   ///< from the keys in host memory to the table in device memory
};

/// Builds on the device the table that hash_table_cpu::build() builds on the host, and copies it
/// back: entry i of the pool holds keys[i] and values[i], and stands in the chain of bucket
/// keys[i] % buckets. Where in that chain is luck: threads come as they come.
///
/// Throws lab::invalid_input when there are not as many values as keys, when there are no buckets,
/// when there are more than kEnd keys or buckets, or for step open_addressing, whose table has no
/// chains; lab::cuda_error when CUDA reports an error. Neither leaves device memory behind.
///
/// Requires: a kernel whose threads share the keys, and insert with a lock for each bucket, or
/// with one atomic exchange per key; the host inserts nothing.
///
/// From: J. Sanders, E. Kandrot, CUDA by Example, A.2.3 and A.2.4.
result build(step which, std::span<const std::uint32_t> keys, std::span<const std::uint32_t> values,
             std::size_t buckets);

// --- step open_addressing -----------------------------------------------------------------------

/// A key, and a value, that no entry may have. As the answer to a search: the key is not there.
inline constexpr std::uint32_t kNone = 0xFFFFFFFF;

/// How many slots a tile of as many threads looks at together.
inline constexpr unsigned kWindow = 4;

/// What is done with all keys of a batch, in one kernel.
enum class operation {
  insert,  ///< a key that is in the table, or in the batch again, keeps the largest of its values
  find,    ///< the value of each key
  erase,   ///< a key that is not in the table is passed over
};

struct batch {
  operation what;
  std::vector<std::uint32_t> keys;
  std::vector<std::uint32_t> values;  ///< of insert: one for each key; of the others: none
};

struct applied {
  /// One for each batch. Of find: for each key its value, or kNone; of the others: empty.
  std::vector<std::vector<std::uint32_t>> found;
  float kernel_ms = 0;  ///< the time of the last batch's kernel
};

/// Makes a table with room for `slots` keys (rounded up to kWindow, or kWindow times a prime
/// number) and applies the batches to it, one after the other. The table holds each key at most
/// once. It is never rebuilt: the slot of an erased key stays in use until the end, and no other
/// key gets it.
///
/// Throws lab::invalid_input when there are no slots or more than kEnd, when a batch has kNone
/// among its keys or values or not the right number of values, and when a key to be inserted finds
/// no slot: the table is full; lab::cuda_error when CUDA reports an error. Neither leaves device
/// memory behind.
///
/// Requires: for each batch a kernel whose threads share the keys; no locks.
///
/// From: ours. Windows of slots that a tile of threads probes are the idea of cuCollections
/// (D. Juenger et al., WarpCore, 2020).
applied apply_batches(std::size_t slots, std::span<const batch> batches);

}  // namespace lab::hash_table_gpu
