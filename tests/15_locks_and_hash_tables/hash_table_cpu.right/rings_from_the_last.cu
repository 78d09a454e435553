// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Inserts from the last key to the first, each after the last entry of its chain. Until all are
// in, a chain is a ring.

#include <vector>

#include "hash_table_cpu.hpp"
#include "lab/errors.hpp"
#include "lab/refuse_if.hpp"
#include "lab/timer.hpp"

namespace lab::hash_table_cpu {
namespace {

/// While a table is built, a chain is a ring: its head is the number of its *last* entry, whose
/// link leads to the first one. So an entry can be added after the last one.
void add_after_the_last(table& t, std::uint32_t number) {
  entry& added = t.pool[number];
  std::uint32_t& last = t.heads[added.key % t.heads.size()];
  if (last == kEnd) {
    added.next = number;
  } else {
    added.next = t.pool[last].next;
    t.pool[last].next = number;
  }
  last = number;
}

table make_empty(std::size_t buckets, std::size_t entries) {
  table t;
  t.pool.resize(entries);
  t.heads.assign(buckets, kEnd);
  return t;
}

void insert_all(table& t, std::span<const std::uint32_t> keys,
                std::span<const std::uint32_t> values) {
  for (std::size_t i = keys.size(); i-- > 0;) {
    t.pool[i] = {keys[i], values[i], kEnd};
    add_after_the_last(t, static_cast<std::uint32_t>(i));
  }
  for (std::uint32_t& head : t.heads)  // cut the rings
    if (head != kEnd) {
      const std::uint32_t last = head;
      head = t.pool[last].next;
      t.pool[last].next = kEnd;
    }
}

}  // namespace

std::optional<std::uint32_t> find(const table& t, std::uint32_t key) {
  refuse_if(t.heads.empty(), "hash_table_cpu: this table has no buckets");
  std::uint32_t here = t.heads[key % t.heads.size()];
  while (here != kEnd && t.pool[here].key != key) here = t.pool[here].next;
  return here == kEnd ? std::nullopt : std::optional(t.pool[here].value);
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
