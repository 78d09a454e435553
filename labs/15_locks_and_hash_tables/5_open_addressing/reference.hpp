// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 15.5 open_addressing: what has to be found, by a table of the standard library, which gets one
// key after the other. So where a key is in the table of the device does not matter.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "lab/random.hpp"
#include "open_addressing.hpp"

namespace lab::open_addressing {

inline std::vector<std::vector<std::uint64_t>> to_be_found(std::span<const batch> batches) {
  std::unordered_map<std::uint64_t, std::uint64_t> table;
  std::vector<std::vector<std::uint64_t>> found;
  for (const batch& b : batches) {
    std::vector<std::uint64_t>& here = found.emplace_back();
    for (std::size_t i = 0; i < b.keys.size(); ++i) {
      if (b.op == operation::insert) {
        std::uint64_t& value = table.try_emplace(b.keys[i], kNone).first->second;
        value = std::min(value, b.values[i]);
      } else if (b.op == operation::find) {
        const auto at = table.find(b.keys[i]);
        here.push_back(at == table.end() ? kNone : at->second);
      } else {
        table.erase(b.keys[i]);
      }
    }
  }
  return found;
}

/// n numbers, at most largest(version), that are all different and look random.
inline std::vector<std::uint64_t> different_numbers(step version, std::size_t n,
                                                    std::uint64_t seed) {
  random_source source(seed);
  const std::uint64_t a = source.bits() | 1, b = source.bits() | 1;
  const std::uint64_t mask = version == step::packed ? 0xFFFF'FFFF : kNone;
  const unsigned half = version == step::packed ? 16 : 32;
  std::vector<std::uint64_t> numbers;
  numbers.reserve(n);
  // Each line maps different numbers to different ones.
  for (std::uint64_t count = 0; numbers.size() < n; ++count) {
    std::uint64_t number = count * a & mask;
    number ^= number >> half;
    number = number * b & mask;
    number ^= number >> half;
    if (number <= largest(version)) numbers.push_back(number);
  }
  return numbers;
}

}  // namespace lab::open_addressing
