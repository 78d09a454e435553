// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Is a computed result right? The answer comes with a sentence.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <ranges>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

#include "lab/bitmap.hpp"

namespace lab {

/// `actual` is inside when |actual - expected| <= absolute + relative * |expected|.
struct tolerance {
  double absolute = 0;
  double relative = 0;
};

/// The outcome of a comparison. The message says what matched, or how many elements differ and
/// where the first one is: `3 of 257 elements differ; first at [256]: got nan, expected 1.5
/// (never written?)`.
struct comparison {
  bool ok = false;
  std::string message;
  explicit operator bool() const noexcept { return ok; }
};

/// The rule that all comparisons use. A NaN, on either side, is never inside; an infinity is
/// inside only where the same infinity is expected.
bool inside(double actual, double expected, tolerance allowed);

namespace detail {

/// Throws std::invalid_argument unless both parts are finite and not negative: with an infinite
/// tolerance a check could never fail.
void require_sensible(tolerance allowed);

std::string text_of(float value);
std::string text_of(double value);
std::string text_of(long long value);
std::string text_of(unsigned long long value);
std::string text_of(const rgba& value);

template <class T>
std::string text_of_element(const T& value) {
  if constexpr (std::is_same_v<T, rgba> || std::is_floating_point_v<T>)
    return text_of(value);
  else if constexpr (std::is_enum_v<T>)
    return text_of_element(static_cast<std::underlying_type_t<T>>(value));
  else if constexpr (std::is_signed_v<T>)
    return text_of(static_cast<long long>(value));
  else
    return text_of(static_cast<unsigned long long>(value));
}

/// " (never written?)" for a value with the bytes that new memory has (new_memory.hpp), else "".
const char* hint_of_bytes(const void* value, std::size_t bytes);

template <class T>
const char* hint_of(const T& value) {
  return hint_of_bytes(&value, sizeof(value));
}

/// `got 2, expected 1.5`, with a hint where there is one.
std::string describe_difference(const std::string& actual, const std::string& expected,
                                const char* hint, double difference);

/// "all 7 rows of C match", "3 of 7 rows …": how much of a matrix has been compared.
std::string rows_match(std::size_t compared, std::size_t rows);

comparison lengths_differ(std::size_t actual, std::size_t expected);
comparison all_match(std::size_t count);
comparison some_differ(std::size_t wrong, std::size_t count, std::size_t first,
                       const std::string& difference);

template <class A, class E>
std::string difference_of(const A& actual, const E& expected) {
  double difference = 0;
  if constexpr (std::is_arithmetic_v<A> && std::is_arithmetic_v<E>)
    difference = static_cast<double>(actual) - static_cast<double>(expected);
  return describe_difference(text_of_element(actual), text_of_element(expected), hint_of(actual),
                             difference);
}

template <class A, class E>
bool same(const A& actual, const E& expected) {
  if constexpr (std::is_integral_v<A> && std::is_integral_v<E>)
    return std::is_signed_v<A> == std::is_signed_v<E>
               ? actual == static_cast<std::common_type_t<A, E>>(expected)
               : std::cmp_equal(actual, expected);
  else
    return actual == expected;
}

/// Length first, then every element: how many are not right, and the first of them.
template <class A, class E, class IsRight>
comparison compare_elements(std::span<const A> actual, std::span<const E> expected,
                            IsRight is_right) {
  if (actual.size() != expected.size()) return lengths_differ(actual.size(), expected.size());
  std::size_t wrong = 0;
  std::size_t first = 0;
  for (std::size_t i = 0; i < actual.size(); ++i) {
    if (is_right(actual[i], expected[i])) continue;
    if (wrong == 0) first = i;
    ++wrong;
  }
  if (wrong == 0) return all_match(actual.size());
  return some_differ(wrong, actual.size(), first, difference_of(actual[first], expected[first]));
}

template <class Range>
auto view_of(const Range& range) {
  return std::span<const std::ranges::range_value_t<Range>>(std::ranges::data(range),
                                                            std::ranges::size(range));
}

}  // namespace detail

/// Compares element by element, in double, with a tolerance. Takes vectors, spans and arrays; the
/// two may have different element types (a float result, a double reference). Different lengths are
/// a failure; two empty ranges match.
template <std::ranges::contiguous_range Actual, std::ranges::contiguous_range Expected>
comparison compare(const Actual& actual, const Expected& expected, tolerance allowed) {
  detail::require_sensible(allowed);
  return detail::compare_elements(
      detail::view_of(actual), detail::view_of(expected), [allowed](auto a, auto e) {
        return inside(static_cast<double>(a), static_cast<double>(e), allowed);
      });
}

/// One number: `got 2, expected 1.5` (and the tolerance), or `matches: 1.5`.
comparison compare(double actual, double expected, tolerance allowed);

/// Compares element by element with ==: numbers, enumerations, pixels. (So 0 and -0 are equal,
/// and a NaN equals nothing.)
template <std::ranges::contiguous_range Actual, std::ranges::contiguous_range Expected>
comparison compare_exact(const Actual& actual, const Expected& expected) {
  return detail::compare_elements(detail::view_of(actual), detail::view_of(expected),
                                  [](const auto& a, const auto& e) { return detail::same(a, e); });
}

/// Compares pixel by pixel: `12 of 4096 pixels differ; first at x = 3, y = 7: got …`.
comparison compare_exact(const bitmap& actual, const bitmap& expected);

}  // namespace lab
