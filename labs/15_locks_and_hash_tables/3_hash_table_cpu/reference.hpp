// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 15.3 hash_table_cpu: what a table must be, whoever built it and in whatever order.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "hash_table_cpu.hpp"
#include "lab/closeness.hpp"
#include "lab/sorting.hpp"

namespace lab::hash_table_cpu {

/// Calls visit(bucket, i) for each entry i of each chain, until it returns false, as it must for an
/// entry that is not in the pool. Returns the number of rounds: the length of the longest chain.
///
/// A round visits one entry of each chain. Following one chain to its end would wait for the memory
/// at each entry; those of a round are independent, and most are near each other: a table that many
/// threads built has in each chain, at about the same depth, what was inserted at about that time.
template <class Visit>
std::size_t walk(const table& t, const Visit& visit) {
  struct stop {
    std::size_t bucket;
    std::uint32_t entry;
  };
  std::vector<stop> stops;
  for (std::size_t bucket = 0; bucket < t.heads.size(); ++bucket)
    if (t.heads[bucket] != kEnd) stops.push_back({bucket, t.heads[bucket]});
  std::size_t rounds = 0;
  for (; !stops.empty(); ++rounds) {
    std::size_t left = 0;
    for (const auto [bucket, entry] : stops) {
      if (!visit(bucket, entry)) return rounds;
      const std::uint32_t next = t.pool[entry].next;
      if (next != kEnd) stops[left++] = {bucket, next};
    }
    stops.resize(left);
  }
  return rounds;
}

/// Whether `t` is a chained hash table of these keys and values:
/// - it has that many buckets and as many entries as there are keys;
/// - from the heads every entry is reached, exactly once: none is lost, no chain runs in a circle;
/// - each entry stands in the bucket of its *key*;
/// - keys and values together are those that were inserted, as often as they were (a multiset).
/// The order within a chain is not checked: on a GPU it varies from run to run.
inline comparison check(const table& t, std::span<const std::uint32_t> keys,
                        std::span<const std::uint32_t> values, std::size_t buckets) {
  const auto text = [](std::size_t number) { return std::to_string(number); };
  if (t.heads.size() != buckets)
    return {false,
            "the table has " + text(t.heads.size()) + " buckets instead of " + text(buckets)};
  if (t.pool.size() != keys.size())
    return {false, "the pool has " + text(t.pool.size()) + " entries, and " + text(keys.size()) +
                       " keys were to be inserted"};

  std::vector<bool> seen(t.pool.size());
  std::size_t reached = 0;
  std::string wrong;
  walk(t, [&](std::size_t bucket, std::uint32_t i) {
    if (i < t.pool.size() && !seen[i] && t.pool[i].key % buckets == bucket) {
      seen[i] = true;
      ++reached;
      return true;
    }
    wrong = "the chain of bucket " + text(bucket);
    if (i >= t.pool.size())
      wrong += " leads out of the pool: to entry " + text(i) + " of " + text(t.pool.size());
    else if (seen[i])
      wrong += " comes to entry " + text(i) + ", which was passed before: it runs in a circle, " +
               "or into another chain";
    else
      wrong += " holds the key " + text(t.pool[i].key) + ", which belongs to bucket " +
               text(t.pool[i].key % buckets);
    return false;
  });
  if (!wrong.empty()) return {false, wrong};
  if (reached != t.pool.size()) {
    const auto lost = std::find(seen.begin(), seen.end(), false) - seen.begin();
    return {false, text(t.pool.size() - reached) + " of " + text(t.pool.size()) +
                       " entries are in no chain: lost; the first one is entry " +
                       text(static_cast<std::size_t>(lost))};
  }

  const comparison right{true, "all " + text(reached) + " entries are in their buckets"};
  // As the contract has them, each entry where its key was: then there is nothing to sort.
  std::size_t same_index = 0;
  while (same_index < keys.size() && t.pool[same_index].key == keys[same_index] &&
         t.pool[same_index].value == values[same_index])
    ++same_index;
  if (same_index == keys.size()) return right;

  // Both as lists of numbers, with the key in the upper half.
  std::vector<std::uint64_t> present(t.pool.size()), expected(keys.size());
  std::transform(t.pool.begin(), t.pool.end(), present.begin(),
                 [](const entry& e) { return std::uint64_t{e.key} << 32 | e.value; });
  std::transform(
      keys.begin(), keys.end(), values.begin(), expected.begin(),
      [](std::uint32_t key, std::uint32_t value) { return std::uint64_t{key} << 32 | value; });
  const comparison same = compare_multiset(present, expected, [&](std::uint64_t both) {
    return "key " + text(both >> 32) + " with value " + text(both & 0xFFFFFFFF);
  });
  if (!same.ok) return {false, "the table does not hold what was inserted: " + same.message};
  return right;
}

/// How long the longest chain is.
inline std::size_t longest_chain(const table& t) {
  return walk(t, [](std::size_t, std::uint32_t) { return true; });
}

}  // namespace lab::hash_table_cpu
