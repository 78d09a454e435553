// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "lab/random.hpp"

#include <algorithm>
#include <cmath>

#include "lab/errors.hpp"

namespace lab {

// SplitMix64 (Steele, Lea and Flood, 2014): a counter in steps of 2^64 divided by the golden ratio,
// mixed by two multiplications until every bit of the input changes half the bits of the output.
std::uint64_t random_source::bits() {
  state_ += 0x9e3779b97f4a7c15u;
  std::uint64_t z = state_;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

float random_source::real(float low, float high) {
  if (!std::isfinite(low) || !std::isfinite(high) || low > high)
    throw invalid_input("random numbers need a range with low <= high, both finite");
  const double unit = std::ldexp(static_cast<double>(bits() >> 40), -24);  // 0 <= unit < 1
  const double width = static_cast<double>(high) - static_cast<double>(low);
  // An explicit fma: a compiler that may contract the sum itself would do it on some machines only.
  const float value = static_cast<float>(std::fma(width, unit, static_cast<double>(low)));
  if (low == high) return low;
  return std::min(value, std::nextafter(high, low));  // rounding to float may have reached high
}

int random_source::integer(int low, int high) {
  if (low > high) throw invalid_input("random integers need a range with low <= high");
  const std::uint64_t count =
      static_cast<std::uint64_t>(static_cast<std::int64_t>(high) - low) + 1;  // at most 2^32
  // Taking the remainder of any 64 bits would favour small values a little; so the bits above the
  // last whole multiple of `count` are drawn again.
  const std::uint64_t limit = UINT64_MAX - UINT64_MAX % count;
  std::uint64_t drawn = bits();
  while (drawn >= limit) drawn = bits();
  return static_cast<int>(low + static_cast<std::int64_t>(drawn % count));
}

std::vector<float> random_floats(std::size_t n, std::uint64_t seed, float low, float high) {
  random_source source(seed);
  std::vector<float> values(n);
  for (float& value : values) value = source.real(low, high);
  return values;
}

std::vector<int> random_ints(std::size_t n, std::uint64_t seed, int low, int high) {
  random_source source(seed);
  std::vector<int> values(n);
  for (int& value : values) value = source.integer(low, high);
  return values;
}

std::vector<std::uint32_t> random_words(std::size_t n, std::uint64_t seed) {
  random_source source(seed);
  std::vector<std::uint32_t> values(n);
  for (std::uint32_t& value : values) value = static_cast<std::uint32_t>(source.bits() >> 32);
  return values;
}

std::vector<std::uint8_t> random_bytes(std::size_t n, std::uint64_t seed) {
  random_source source(seed);
  std::vector<std::uint8_t> values(n);
  for (std::uint8_t& value : values) value = static_cast<std::uint8_t>(source.bits() >> 56);
  return values;
}

}  // namespace lab
