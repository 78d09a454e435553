// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 15.3 hash_table_cpu: the contract. What the program and the tests expect of hash_table_cpu.cu.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace lab::hash_table_cpu {

/// The number of no entry: where a chain ends, and the head of an empty bucket.
inline constexpr std::uint32_t kEnd = 0xFFFFFFFF;

/// One key with its value. `next` is the number of the entry that follows in the bucket's chain.
struct entry {
  std::uint32_t key;
  std::uint32_t value;
  std::uint32_t next;
  bool operator==(const entry&) const = default;
};

/// A chained hash table as plain data: links are numbers of entries, not pointers.
struct table {
  std::vector<std::uint32_t> heads;  ///< one per bucket: where its chain begins
  std::vector<entry> pool;           ///< all entries
};

struct result {
  table built;
  float build_ms = 0;  ///< the time of the insertions, without allocating the memory
};

/// A table with one entry for each key and its value; a key that occurs twice has two entries.
/// Entry i of the pool holds keys[i] and values[i]. The key k stands in the chain of bucket
/// k % buckets. New entries go to the front of their chain, so the last one inserted comes first.
///
/// Throws lab::invalid_input when there are not as many values as keys, when there are no buckets,
/// or when there are more than kEnd keys or buckets.
///
/// Requires: plain C++ on the host: the table that 15.4 builds on the device.
///
/// From: J. Sanders, E. Kandrot, CUDA by Example, A.2.2 (which stored no values).
result build(std::span<const std::uint32_t> keys, std::span<const std::uint32_t> values,
             std::size_t buckets);

/// The value of the first entry with this key in its chain: of the one inserted last. Nothing if
/// there is none. Looks at the entries of one bucket only.
std::optional<std::uint32_t> find(const table& t, std::uint32_t key);

}  // namespace lab::hash_table_cpu
