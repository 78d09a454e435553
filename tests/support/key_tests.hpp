// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Keys and values that a sort may use for its own purposes: as a mark for "nothing here", or as
// padding of a tile.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <vector>

#include "lab/key_value.hpp"
#include "lab/random.hpp"

namespace lab::testing {

/// `n` of the bit patterns at the ends of what unsigned numbers, ints and floats can be, among them
/// 0xFFFFFFFF, with which the course fills new device memory. As floats: zeros, infinities and NaNs
/// of both signs.
inline std::vector<std::uint32_t> awkward_patterns(std::size_t n, std::uint64_t seed) {
  constexpr std::uint32_t kPatterns[] = {0,          1,          0x7F800000, 0x7FFFFFFF,
                                         0x80000000, 0xFF800000, 0xFFFFFFFE, 0xFFFFFFFF};
  std::vector<std::uint32_t> patterns;
  for (const int which : random_ints(n, seed, 0, static_cast<int>(std::size(kPatterns)) - 1))
    patterns.push_back(kPatterns[which]);
  return patterns;
}

/// Such keys with such values: no pair can be told by its value alone.
inline key_values awkward_pairs(std::size_t n, std::uint64_t seed) {
  return {awkward_patterns(n, seed), awkward_patterns(n, seed + 1)};
}

}  // namespace lab::testing
