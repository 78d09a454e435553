// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Keys with values that belong to them, in arrays of equal length: data to sort, and the check.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "lab/closeness.hpp"
#include "lab/errors.hpp"
#include "lab/random.hpp"
#include "lab/sorting.hpp"

namespace lab {

/// `count` arrays of `length` elements each, one after the other. Each is sorted by itself.
struct batch {
  std::size_t count = 0;
  std::size_t length = 0;
  friend bool operator==(const batch&, const batch&) = default;
};

struct key_values {
  std::vector<std::uint32_t> keys;
  std::vector<std::uint32_t> values;
};

/// `n` random keys from 0 to `highest`; the value of an element is its index, so that no two are
/// alike and every pair differs from all others.
inline key_values make_key_values(std::size_t n, std::uint64_t seed,
                                  std::uint32_t highest = 0xFFFFFFFFU) {
  key_values made{std::vector<std::uint32_t>(n), std::vector<std::uint32_t>(n)};
  random_source source(seed);
  for (std::size_t i = 0; i < n; ++i) {
    // The upper half of a product: a number from 0 to highest, out of 32 random bits.
    made.keys[i] =
        static_cast<std::uint32_t>(((source.bits() >> 32) * (std::uint64_t{highest} + 1)) >> 32);
    made.values[i] = static_cast<std::uint32_t>(i);
  }
  return made;
}

/// Checks the input of a sorting network: throws invalid_input, with a sentence that begins with
/// `caller`, unless the length is a power of two up to 2^31, there are count * length keys, and as
/// many values or none.
inline void require_network_input(const std::string& caller, std::span<const std::uint32_t> keys,
                                  std::span<const std::uint32_t> values, batch arrays) {
  const auto [count, length] = arrays;
  if (!std::has_single_bit(length))
    throw invalid_input(caller +
                        ": the length of an array must be a power of two (1, 2, 4, 8 ...), " +
                        "and " + std::to_string(length) + " is none");
  if (length > std::size_t{1} << 31)
    throw invalid_input(caller + ": an array has at most 2^31 elements, not " +
                        std::to_string(length));
  if (count > std::numeric_limits<std::size_t>::max() / length)
    throw invalid_input(caller + ": " + std::to_string(count) + " arrays of " +
                        std::to_string(length) + " elements are more than can be counted");
  if (keys.size() != count * length)
    throw invalid_input(caller + ": there are " + std::to_string(keys.size()) + " keys, and " +
                        std::to_string(count) + " arrays of " + std::to_string(length) + " have " +
                        std::to_string(count * length));
  if (!values.empty() && values.size() != keys.size())
    throw invalid_input(caller + ": the numbers of keys (" + std::to_string(keys.size()) +
                        ") and of values (" + std::to_string(values.size()) +
                        ") differ; each key has one value, or there are none at all");
}

/// Whether each array of `sorted` is that of `input`, sorted by key: keys in order, and the same
/// keys with the same values. Pairs with equal keys may be in any order. Without values in the
/// input, there must be none in the result, and the keys are compared alone.
inline comparison check_sorted(const key_values& sorted, const key_values& input, batch arrays,
                               direction order = direction::ascending) {
  const std::size_t n = input.keys.size();
  if (sorted.keys.size() != n || sorted.values.size() != input.values.size())
    return {false, std::to_string(sorted.keys.size()) + " keys and " +
                       std::to_string(sorted.values.size()) + " values, expected " +
                       std::to_string(n) + " and " + std::to_string(input.values.size())};
  if (arrays.count * arrays.length != n)
    throw invalid_input("check_sorted: the input is no batch of this shape");
  // A pair as one number, so that a moved value makes another number.
  const auto packed = [](const key_values& from, std::size_t first, std::size_t length) {
    std::vector<std::uint64_t> pairs(length);
    for (std::size_t i = 0; i < length; ++i)
      pairs[i] = std::uint64_t{from.keys[first + i]} << 32 |
                 (from.values.empty() ? 0 : from.values[first + i]);
    return pairs;
  };
  for (std::size_t index = 0; index < arrays.count; ++index) {
    const std::size_t first = index * arrays.length;
    const auto in_array = [&](const std::string& what) {
      return comparison{false, "array " + std::to_string(index) + " of " +
                                   std::to_string(arrays.count) + ": " + what};
    };
    const std::span<const std::uint32_t> is(sorted.keys.data() + first, arrays.length);
    const std::span<const std::uint32_t> was(input.keys.data() + first, arrays.length);
    auto pairs = packed(sorted, first, arrays.length),
         expected = packed(input, first, arrays.length);
    std::ranges::sort(pairs);
    std::ranges::sort(expected);
    const bool in_order = order == direction::ascending
                              ? std::ranges::is_sorted(is)
                              : std::ranges::is_sorted(is, std::ranges::greater{});
    if (in_order && pairs == expected) continue;
    // Something is wrong: only now is it worthwhile to find out what.
    const comparison keys = compare_sorted(is, was, order);
    if (!keys) return in_array(keys.message);
    const auto differs = std::ranges::mismatch(pairs, expected);
    return in_array("the keys are sorted, but a value is not with its key: key " +
                    std::to_string(*differs.in1 >> 32) + " has value " +
                    std::to_string(*differs.in1 & 0xFFFFFFFFU) + ", which it had not before");
  }
  return {true, std::to_string(n) + (input.values.empty() ? " keys" : " pairs") + " in " +
                    std::to_string(arrays.count) +
                    (arrays.count == 1 ? " array are sorted" : " arrays are sorted")};
}

}  // namespace lab
