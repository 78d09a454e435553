// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 10.4 histogram: bytes to count, from the easiest to the hardest for atomics.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "lab/random.hpp"

namespace lab::histogram {

enum class data {
  random,    ///< every value is as likely: two of 32 neighbours are seldom equal
  skewed,    ///< a third of all bytes is 0, most others have one bit or two set
  constant,  ///< all bytes are equal: every increment goes to the same counter
};

inline std::vector<std::uint8_t> make_bytes(data kind, std::size_t n, std::uint64_t seed) {
  if (kind == data::constant)
    return std::vector<std::uint8_t>(n, lab::random_bytes(1, seed).front());
  std::vector<std::uint8_t> bytes = lab::random_bytes(n, seed);
  if (kind == data::skewed) {
    // A bit of the result is set where it is set in three random bytes: one in eight.
    for (std::uint64_t more = 1; more <= 2; ++more) {
      const std::vector<std::uint8_t> other = lab::random_bytes(n, seed + 1000 * more);
      for (std::size_t i = 0; i < n; ++i) bytes[i] = static_cast<std::uint8_t>(bytes[i] & other[i]);
    }
  }
  return bytes;
}

}  // namespace lab::histogram
