// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 10.5 atomic_toolbox: what each operation does if no other thread is there, and whether the
// returned values can have come about that way.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "atomic_toolbox.hpp"
#include "lab/closeness.hpp"

namespace lab::atomic_toolbox {

/// What the operation leaves in a cell that holds `old`: its definition for one thread alone.
inline std::uint32_t after(operation op, std::uint32_t old, const request& operands) {
  const std::uint32_t value = operands.value;
  switch (op) {
    case operation::add:
      return old + value;
    case operation::sub:
      return old - value;
    case operation::exch:
      return value;
    case operation::min:
      return std::min(old, value);
    case operation::max:
      return std::max(old, value);
    case operation::inc:
      return old >= value ? 0 : old + 1;
    case operation::dec:
      return old == 0 || old > value ? value : old - 1;
    case operation::cas:
      return old == operands.expected ? value : old;
    case operation::bit_and:
      return old & value;
    case operation::bit_or:
      return old | value;
    case operation::bit_xor:
      return old ^ value;
  }
  return old;
}

/// Is there an order in which the requests, one after the other, return what they have returned and
/// leave what is left? Trying all orders of 1000 requests is out of the question, and not needed:
///
/// Draw a point for each value that the cell may have, and for each request an arrow, from what it
/// has returned (what it saw) to what it left then. An order is a walk along the arrows, from
/// `start` to `left`, that takes each arrow once. Euler has shown when there is one: each point is
/// left as often as it is reached (but for the first and the last one), and the arrows hang
/// together.
inline comparison is_possible(operation op, std::uint32_t start, std::span<const request> requests,
                              const outcome& given) {
  if (given.returned.size() != requests.size())
    return {false, "there are " + std::to_string(requests.size()) + " requests, and " +
                       std::to_string(given.returned.size()) + " returned values"};
  struct point {
    std::int64_t more_left_than_reached = 0;
    std::uint32_t joined_with;  // another point of the same part; itself, if it is the part's name
  };
  std::map<std::uint32_t, point> points;
  const auto part_of = [&](std::uint32_t value) {
    points.try_emplace(value, point{0, value});
    while (points.at(value).joined_with != value) {
      point& here = points.at(value);
      here.joined_with = points.at(here.joined_with).joined_with;  // a shorter way for the next one
      value = here.joined_with;
    }
    return value;
  };
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const std::uint32_t from = given.returned[i], to = after(op, from, requests[i]);
    const std::uint32_t part = part_of(from);
    points.at(part).joined_with = part_of(to);
    ++points.at(from).more_left_than_reached;
    --points.at(to).more_left_than_reached;
  }
  (void)part_of(start), (void)part_of(given.left);
  --points.at(start).more_left_than_reached;  // the walk is there at first …
  ++points.at(given.left).more_left_than_reached;
  for (const auto& [value, here] : points) {
    if (here.more_left_than_reached != 0)
      return {false, "no order of the requests explains this: " + std::to_string(value) + " was " +
                         (here.more_left_than_reached > 0 ? "seen more often than it was left there"
                                                          : "left there more often than it was "
                                                            "seen or remained")};
    if (part_of(value) != part_of(start))
      return {false, "no order of the requests explains this: nothing leads from " +
                         std::to_string(start) + ", the start, to " + std::to_string(value) +
                         ", which a request has seen"};
  }
  return {true, "an order of the " + std::to_string(requests.size()) + " requests explains it"};
}

inline float reference_max(std::span<const float> values) {
  float largest = -std::numeric_limits<float>::infinity();
  for (const float value : values) {
    if (std::isnan(value)) return value;
    if (value > largest || (value == 0 && largest == 0 && !std::signbit(value))) largest = value;
  }
  return largest;
}

/// Compares bit by bit, so that -0 is not +0; but any NaN will do for any other.
inline comparison check_max(float actual, std::span<const float> values) {
  const float expected = reference_max(values);
  const bool same = std::isnan(expected)
                        ? std::isnan(actual)
                        : actual == expected && std::signbit(actual) == std::signbit(expected);
  const auto text = [](float value) { return detail::text_of(value); };
  if (same) return {true, "the largest value is " + text(actual)};
  return {false, "got " + text(actual) + ", expected " + text(expected)};
}

inline std::vector<std::uint32_t> reference_sums(std::span<const std::uint32_t> values) {
  std::vector<std::uint32_t> sums((values.size() + kGroup - 1) / kGroup);
  for (std::size_t i = 0; i < values.size(); ++i) sums[i / kGroup] += values[i];
  return sums;
}

}  // namespace lab::atomic_toolbox
