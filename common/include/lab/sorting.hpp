// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Is a result sorted, and is everything still there? The answer comes with a sentence.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <limits>
#include <map>
#include <ranges>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "lab/closeness.hpp"

namespace lab {

enum class direction { ascending, descending };

namespace detail {

/// An order of values by their bytes, for types that have no other: it only distinguishes them.
struct by_bytes {
  template <class T>
  bool operator()(const T& a, const T& b) const noexcept {
    static_assert(std::has_unique_object_representations_v<T> || std::is_floating_point_v<T>,
                  "bytes between the members would tell equal values apart");
    return std::memcmp(&a, &b, sizeof(T)) < 0;
  }
};

/// Fast, for many millions of values.
template <class T>
bool same_when_sorted(std::span<const T> a, std::span<const T> b) {
  std::vector<T> left(a.begin(), a.end()), right(b.begin(), b.end());
  std::ranges::sort(left, by_bytes{});
  std::ranges::sort(right, by_bytes{});
  return left.empty() || std::memcmp(left.data(), right.data(), left.size() * sizeof(T)) == 0;
}

struct as_number {
  template <class T>
  std::string operator()(const T& value) const {
    return text_of_element(value);
  }
};

template <class T>
using counts = std::map<T, std::size_t, by_bytes>;

/// How often each value occurs.
template <class T>
counts<T> count_values(std::span<const T> values) {
  counts<T> found;
  for (const T& value : values) ++found[value];
  return found;
}

constexpr std::size_t kNowhere = std::numeric_limits<std::size_t>::max();

/// Takes the values out of `left`; counts those that are not there (any more), and finds the place
/// of the first of them.
template <class T>
std::size_t take_out(std::span<const T> values, counts<T> left, std::size_t& first) {
  std::size_t surplus = 0;
  first = kNowhere;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto position = left.find(values[i]);
    if (position != left.end() && position->second != 0) {
      --position->second;
      continue;
    }
    if (surplus == 0) first = i;
    ++surplus;
  }
  return surplus;
}

}  // namespace detail

/// Whether both hold the same values, each as often as the other, in whatever order: `2 of 257
/// elements do not belong there; first at [3]: got -1 (never written?); missing: 7`. `text` makes
/// the words of one value. Values are told apart by their bytes: 0.0 and -0.0 are two values, and a
/// NaN is equal to itself, since nothing that only moves values about may change them.
template <std::ranges::contiguous_range Actual, std::ranges::contiguous_range Expected,
          class Text = detail::as_number>
requires std::is_same_v<std::ranges::range_value_t<Actual>, std::ranges::range_value_t<Expected>>
    comparison compare_multiset(const Actual& actual, const Expected& expected, Text text = {}) {
  const auto is = detail::view_of(actual);
  const auto should = detail::view_of(expected);
  if (is.size() != should.size()) return detail::lengths_differ(is.size(), should.size());
  if (detail::same_when_sorted(is, should)) return detail::all_match(is.size());
  // Something is wrong: only now is it worthwhile to find out what.
  std::size_t surplus_index = 0, missing_index = 0;
  const std::size_t surplus = detail::take_out(is, detail::count_values(should), surplus_index);
  detail::take_out(should, detail::count_values(is), missing_index);
  const auto& got = is[surplus_index];
  return {false, std::to_string(surplus) + " of " + std::to_string(is.size()) +
                     (is.size() == 1 ? " element" : " elements") +
                     (surplus == 1 ? " does" : " do") + " not belong there; first at [" +
                     std::to_string(surplus_index) + "]: got " + text(got) + detail::hint_of(got) +
                     "; missing: " + text(should[missing_index])};
}

/// Whether `actual` is `input` sorted: in order, and the same values. (In order alone would let
/// zeros pass.) `3 of 257 elements are out of order; first at [5]: 2 behind 7`. Equal values may be
/// in any order. A NaN has no place in an order: with one in it, nothing is sorted.
template <std::ranges::contiguous_range Actual, std::ranges::contiguous_range Input>
comparison compare_sorted(const Actual& actual, const Input& input,
                          direction order = direction::ascending) {
  const auto is = detail::view_of(actual);
  std::size_t wrong = 0;
  std::size_t first = 0;
  // The first element is compared with itself: that finds a NaN, which is not <= anything.
  for (std::size_t i = 0; i < is.size(); ++i) {
    const auto& before = is[i == 0 ? 0 : i - 1];
    if (order == direction::ascending ? before <= is[i] : before >= is[i]) continue;
    if (wrong == 0) first = i;
    ++wrong;
  }
  if (is.size() != std::ranges::size(input))
    return detail::lengths_differ(is.size(), std::ranges::size(input));
  if (wrong != 0)
    return {false, std::to_string(wrong) + " of " + std::to_string(is.size()) +
                       (is.size() == 1 ? " element" : " elements") + (wrong == 1 ? " is" : " are") +
                       " out of order; first at [" + std::to_string(first) +
                       "]: " + detail::text_of_element(is[first]) +
                       (first == 0 ? "" : " behind " + detail::text_of_element(is[first - 1]))};
  comparison same = compare_multiset(actual, input);
  if (!same.ok) same.message = "in order, but " + same.message;
  return same;
}

}  // namespace lab
