// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 15.3 hash_table_cpu: a table of chains whose entries come from one pool. All of it runs on the
// host: 15.4 must produce the same contents, and be faster.
// Edit:  this file, from TODO(1) to TODO(5). hash_table_cpu.hpp has the contract.
// Run:   scripts/lab run 15.3
// Test:  scripts/lab test 15.3
// Hints: scripts/lab hint 15.3        Chapter: docs/15_locks_and_hash_tables.md

#include <vector>

#include "hash_table_cpu.hpp"
#include "lab/errors.hpp"
#include "lab/refuse_if.hpp"
#include "lab/timer.hpp"

namespace lab::hash_table_cpu {
namespace {

/// Which chain a key belongs to.
std::size_t bucket_of(std::uint32_t key, std::size_t buckets) {
  // TODO(1): distribute the keys over the buckets 0, 1, …, buckets - 1 by the remainder. The same
  //          key always goes to the same bucket, whatever its value is.
  throw not_written("bucket_of", 1);
}

/// Puts entry `number` of the pool, which has its key and its value, at the front of its chain.
void push(table& t, std::uint32_t number) {
  // TODO(2): two links change: the entry's now points to the former first entry of the chain, and
  //          the chain's head to the new entry. In which order, so that no entry is lost?
  throw not_written("push", 2);
}

/// An empty table with all the memory that it will need.
table make_empty(std::size_t buckets, std::size_t entries) {
  // TODO(3): a head for each bucket (which number means an empty chain?) and a pool of `entries`
  //          entries. All at once: an allocation for each key would take more time than everything
  //          else together.
  throw not_written("make_empty", 3);
}

void insert_all(table& t, std::span<const std::uint32_t> keys,
                std::span<const std::uint32_t> values) {
  // TODO(4): store the i-th key and value in entry i of the pool, and push that entry.
  throw not_written("insert_all", 4);
}

}  // namespace

std::optional<std::uint32_t> find(const table& t, std::uint32_t key) {
  refuse_if(t.heads.empty(), "hash_table_cpu: this table has no buckets");
  // TODO(5): follow the one chain in which the key can be.
  throw not_written("find", 5);
}

// --- given ---------------------------------------------------------------------------------------

result build(std::span<const std::uint32_t> keys, std::span<const std::uint32_t> values,
             std::size_t buckets) {
  refuse_if(keys.size() != values.size(), "hash_table_cpu: the numbers of keys (", keys.size(),
            ") and of values (", values.size(), ") differ; each key needs one value");
  refuse_if(buckets == 0, "hash_table_cpu: a table needs at least one bucket");
  refuse_if(keys.size() > kEnd || buckets > kEnd, "hash_table_cpu: at most ", kEnd,
            " keys and as many buckets are possible");

  result out{make_empty(buckets, keys.size())};
  const host_timer timer;
  insert_all(out.built, keys, values);
  out.build_ms = static_cast<float>(timer.milliseconds());
  return out;
}

}  // namespace lab::hash_table_cpu
