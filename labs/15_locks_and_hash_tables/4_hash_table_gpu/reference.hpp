// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 15.4 hash_table_gpu: the table is checked as that of 15.3 is, which says nothing about who built
// it: every entry in one chain, that of its key's bucket, and nothing lost, doubled or changed.
// Step open_addressing is checked by what it finds.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "../3_hash_table_cpu/reference.hpp"
#include "hash_table_gpu.hpp"
#include "lab/random.hpp"

namespace lab::hash_table_gpu {

using hash_table_cpu::check;
using hash_table_cpu::longest_chain;

/// What apply_batches() has to find, by a table of the standard library, one key after the other.
inline std::vector<std::vector<std::uint32_t>> to_be_found(std::span<const batch> batches) {
  std::unordered_map<std::uint32_t, std::uint32_t> table;
  std::vector<std::vector<std::uint32_t>> found;
  for (const batch& b : batches) {
    std::vector<std::uint32_t>& here = found.emplace_back();
    for (std::size_t i = 0; i < b.keys.size(); ++i) {
      if (b.what == operation::insert) {
        std::uint32_t& value = table.try_emplace(b.keys[i], 0).first->second;
        value = std::max(value, b.values[i]);
      } else if (b.what == operation::find) {
        const auto at = table.find(b.keys[i]);
        here.push_back(at == table.end() ? kNone : at->second);
      } else {
        table.erase(b.keys[i]);
      }
    }
  }
  return found;
}

/// n keys, at most kNone, that are all different and look random.
inline std::vector<std::uint32_t> different_keys(std::size_t n, std::uint64_t seed) {
  random_source source(seed);
  const auto a = static_cast<std::uint32_t>(source.bits() >> 32) | 1;
  const auto b = static_cast<std::uint32_t>(source.bits() >> 32) | 1;
  std::vector<std::uint32_t> keys;
  keys.reserve(n);
  // Each line maps different numbers to different ones: so are the keys.
  for (std::uint32_t number = 0; keys.size() < n; ++number) {
    std::uint32_t key = number * a;
    key ^= key >> 16;
    key *= b;
    key ^= key >> 15;
    if (key != kNone) keys.push_back(key);
  }
  return keys;
}

}  // namespace lab::hash_table_gpu
