// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "lab/closeness.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <stdexcept>

#include "lab/new_memory.hpp"

namespace lab {
namespace {

/// The shortest text that reads back as the same value.
template <class Number>
std::string shortest(Number value) {
  std::array<char, 64> text;
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value);
  return std::string(text.data(), end.ptr);
}

std::string plural(std::size_t count, const char* noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

std::string differs(std::size_t wrong, std::size_t count, const char* noun) {
  return std::to_string(wrong) + " of " + plural(count, noun) +
         (wrong == 1 ? " differs" : " differ");
}

}  // namespace

bool inside(double actual, double expected, tolerance allowed) {
  // Infinities first: inf - inf is not a number, and inf <= inf would let everything pass.
  if (std::isinf(actual) || std::isinf(expected)) return actual == expected;
  return std::fabs(actual - expected) <= allowed.absolute + allowed.relative * std::fabs(expected);
}

comparison compare(double actual, double expected, tolerance allowed) {
  detail::require_sensible(allowed);
  if (inside(actual, expected, allowed)) {
    const std::string a = shortest(actual);
    const std::string e = shortest(expected);
    return {true, a == e ? a : a + ", expected " + e};
  }
  std::string message = detail::difference_of(actual, expected);
  if (std::isfinite(actual) && std::isfinite(expected)) {
    const double most = allowed.absolute + allowed.relative * std::fabs(expected);
    message += "; they differ by " + shortest(static_cast<float>(std::fabs(actual - expected)));
    message += most == 0 ? ", and must be equal"
                         : "; at most " + shortest(static_cast<float>(most)) + " is allowed";
  }
  return {false, message};
}

comparison compare_exact(const bitmap& actual, const bitmap& expected) {
  if (actual.width() != expected.width() || actual.height() != expected.height())
    return {false, "the picture is " + std::to_string(actual.width()) + " x " +
                       std::to_string(actual.height()) + ", expected " +
                       std::to_string(expected.width()) + " x " +
                       std::to_string(expected.height())};
  const auto width = static_cast<std::size_t>(actual.width());
  std::size_t wrong = 0;
  std::size_t first = 0;
  for (std::size_t i = 0; i < actual.pixels().size(); ++i) {
    if (actual.pixels()[i] == expected.pixels()[i]) continue;
    if (wrong == 0) first = i;
    ++wrong;
  }
  const std::size_t count = actual.pixels().size();
  if (wrong == 0)
    return {true, count == 1 ? "the pixel matches" : "all " + plural(count, "pixel") + " match"};
  return {false, differs(wrong, count, "pixel") +
                     "; first at x = " + std::to_string(first % width) +
                     ", y = " + std::to_string(first / width) + ": " +
                     detail::difference_of(actual.pixels()[first], expected.pixels()[first])};
}

namespace detail {

void require_sensible(tolerance allowed) {
  const auto sensible = [](double value) { return std::isfinite(value) && value >= 0; };
  if (!sensible(allowed.absolute) || !sensible(allowed.relative))
    throw std::invalid_argument("a tolerance must be finite and not negative, else nothing fails");
}

std::string text_of(float value) { return std::isnan(value) ? "nan" : shortest(value); }
std::string text_of(double value) { return std::isnan(value) ? "nan" : shortest(value); }
std::string text_of(long long value) { return shortest(value); }
std::string text_of(unsigned long long value) { return shortest(value); }
std::string text_of(const rgba& value) {
  return "rgba(" + std::to_string(value.r) + ", " + std::to_string(value.g) + ", " +
         std::to_string(value.b) + ", " + std::to_string(value.a) + ")";
}

const char* hint_of_bytes(const void* value, std::size_t bytes) {
  const auto* first = static_cast<const unsigned char*>(value);
  const bool is_new =
      std::all_of(first, first + bytes, [](unsigned char byte) { return byte == new_memory_byte; });
  return is_new ? " (never written?)" : "";
}

std::string describe_difference(const std::string& actual, const std::string& expected,
                                const char* hint, double difference) {
  std::string text = "got " + actual + ", expected " + expected;
  if (expected == "nan")
    text += " (the reference itself is not a number)";
  else if (*hint != '\0')
    text += hint;
  else if (actual == expected)  // a float and a double that print alike
    text += " (they differ by " + shortest(static_cast<float>(std::fabs(difference))) + ")";
  return text;
}

std::string rows_match(std::size_t compared, std::size_t rows) {
  if (rows == 1 && compared == 1) return "the only row of C matches";
  const std::string many = compared == rows ? "all" : std::to_string(compared) + " of";
  return many + " " + std::to_string(rows) + " rows of C match";
}

comparison lengths_differ(std::size_t actual, std::size_t expected) {
  return {false, "got " + plural(actual, "element") + ", expected " + std::to_string(expected)};
}

comparison all_match(std::size_t count) {
  if (count == 0) return {true, "nothing expected, and nothing there"};
  if (count == 1) return {true, "the one element matches"};
  return {true, "all " + plural(count, "element") + " match"};
}

comparison some_differ(std::size_t wrong, std::size_t count, std::size_t first,
                       const std::string& difference) {
  return {false, differs(wrong, count, "element") + "; first at [" + std::to_string(first) +
                     "]: " + difference};
}

}  // namespace detail
}  // namespace lab
