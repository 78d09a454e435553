// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Seeded data: the same numbers with every compiler and every standard library.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace lab {

/// A stream of random numbers that depends on nothing but its seed.
///
/// The standard's distributions may differ between libraries, so both the generator (SplitMix64:
/// a counter run through a mixing function) and the mapping to a range are our own.
class random_source {
 public:
  explicit random_source(std::uint64_t seed) : state_(seed) {}

  /// 64 random bits.
  std::uint64_t bits();
  /// Evenly from low <= x < high (low itself where they are equal), with a resolution of
  /// (high - low) / 2^24. Throws invalid_input unless low <= high and both are finite.
  float real(float low, float high);
  /// Evenly from low <= x <= high. Throws invalid_input unless low <= high.
  int integer(int low, int high);

 private:
  std::uint64_t state_;
};

/// `n` floats, low <= x < high.
std::vector<float> random_floats(std::size_t n, std::uint64_t seed, float low, float high);
/// `n` ints, low <= x <= high.
std::vector<int> random_ints(std::size_t n, std::uint64_t seed, int low, int high);
/// `n` words of 32 random bits, each value as likely as the others.
std::vector<std::uint32_t> random_words(std::size_t n, std::uint64_t seed);
/// `n` bytes, each value as likely as the others.
std::vector<std::uint8_t> random_bytes(std::size_t n, std::uint64_t seed);

}  // namespace lab
