// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 14.3 radix_sort: what the results are compared with.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "lab/closeness.hpp"
#include "radix_sort.hpp"

namespace lab::radix_sort {

/// A whole number in whose order keys are to be. Of floats the IEEE 754 pattern is sign and
/// magnitude: as a signed number it has the right order, once the magnitude of a negative one is
/// turned round.
template <class Key>
std::int64_t position_in_order(Key key) {
  if constexpr (std::is_same_v<Key, float>) {
    const auto bits = std::bit_cast<std::int32_t>(key);
    return bits >= 0 ? bits : -std::int64_t{bits & 0x7FFFFFFF} - 1;
  } else {
    return key;
  }
}

/// The values 0, 1, 2, …: with them every pair can be told from all others.
inline std::vector<std::uint32_t> indices(std::size_t n) {
  std::vector<std::uint32_t> out(n);
  std::iota(out.begin(), out.end(), std::uint32_t{0});
  return out;
}

/// Is `sorted` what `keys` with the values places(n) become, if they are sorted stably by
/// `order(key)`? All of them, bit by bit, in time proportional to n.
template <class Key, class Order>
comparison check_by(const result<Key>& sorted, std::span<const Key> keys, Order order) {
  const std::size_t n = keys.size();
  if (sorted.keys.size() != n || sorted.values.size() != n)
    return {false, std::to_string(sorted.keys.size()) + " keys and " +
                       std::to_string(sorted.values.size()) + " values, expected " +
                       std::to_string(n) + " of each"};
  std::vector<bool> seen(n);
  for (std::size_t i = 0; i < n; ++i) {
    const auto wrong = [&](const std::string& reason) {
      return comparison{false,
                        "at [" + std::to_string(i) + "] of " + std::to_string(n) + ": " + reason};
    };
    const std::size_t from = sorted.values[i];
    if (from >= n) return wrong("value " + std::to_string(from) + " was never there");
    if (seen[from]) return wrong("value " + std::to_string(from) + " is there twice");
    seen[from] = true;
    const Key key = sorted.keys[i];
    if (std::bit_cast<std::uint32_t>(key) != std::bit_cast<std::uint32_t>(keys[from]))
      return wrong("key " + detail::text_of_element(key) + " has the value of key " +
                   detail::text_of_element(keys[from]));
    if (i == 0) continue;
    const Key before = sorted.keys[i - 1];
    if (order(key) < order(before))
      return wrong("key " + detail::text_of_element(key) + " behind " +
                   detail::text_of_element(before));
    if (order(key) == order(before) && from < sorted.values[i - 1])
      return wrong("not stable: value " + std::to_string(from) + " behind " +
                   std::to_string(sorted.values[i - 1]) + ", with equal keys");
  }
  return {true, "all " + std::to_string(n) + " pairs are sorted, and equal keys kept their order"};
}

/// For sort() of `keys` with the values places(n).
template <class Key>
comparison check(const result<Key>& sorted, std::span<const Key> keys) {
  return check_by(sorted, keys, position_in_order<Key>);
}

/// For sort() of keys without values.
template <class Key>
comparison check_keys(const result<Key>& sorted, std::span<const Key> keys) {
  if (!sorted.values.empty()) return {false, "values where there were none"};
  std::vector<std::uint32_t> is, expected;
  std::vector<Key> in_order(keys.begin(), keys.end());
  std::ranges::sort(in_order, {}, position_in_order<Key>);
  for (const Key key : in_order) expected.push_back(std::bit_cast<std::uint32_t>(key));
  for (const Key key : sorted.keys) is.push_back(std::bit_cast<std::uint32_t>(key));
  return compare_exact(is, expected);
}

}  // namespace lab::radix_sort
