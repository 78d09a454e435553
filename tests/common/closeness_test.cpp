// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "lab/closeness.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "lab/new_memory.hpp"
#include "lab/random.hpp"

namespace {

using lab::compare;
using lab::compare_exact;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr lab::tolerance kLoose{1e-3, 1e-3};

template <class T>
T filled_with(int byte) {
  T value;
  std::memset(&value, byte, sizeof(value));
  return value;
}

/// What a new device_buffer contains before anything is written: 0xFF bytes.
template <class T>
T never_written() {
  lab::detail::new_memory_byte = 0xFF;
  return filled_with<T>(0xFF);
}

std::vector<float> ramp(std::size_t n) {
  std::vector<float> values(n);
  std::iota(values.begin(), values.end(), 1.0f);
  return values;
}

TEST(Inside, HoldsUpToTheToleranceAndNotBeyond) {
  EXPECT_TRUE(lab::inside(1.5, 1.0, {0.5, 0}));
  EXPECT_FALSE(lab::inside(1.5000001, 1.0, {0.5, 0}));
  EXPECT_TRUE(lab::inside(110, 100, {0, 0.1}));
  EXPECT_FALSE(lab::inside(111, 100, {0, 0.1}));
  EXPECT_TRUE(lab::inside(-110, -100, {0, 0.1}));
  EXPECT_FALSE(lab::inside(110, -100, {0, 0.1}));
}

TEST(Inside, TakesTheExpectedValueForTheRelativePart) {
  EXPECT_TRUE(lab::inside(50, 100, {0, 0.5}));
  EXPECT_FALSE(lab::inside(100, 50, {0, 0.5}));
}

TEST(Inside, NeverHoldsForNan) {
  EXPECT_FALSE(lab::inside(kNan, 1, kLoose));
  EXPECT_FALSE(lab::inside(1, kNan, kLoose));
  EXPECT_FALSE(lab::inside(kNan, kNan, kLoose));
  EXPECT_FALSE(lab::inside(kNan, kInf, kLoose));
}

TEST(Inside, HoldsForAnInfinityOnlyWhereTheSameIsExpected) {
  EXPECT_TRUE(lab::inside(kInf, kInf, {0, 0}));
  EXPECT_TRUE(lab::inside(-kInf, -kInf, kLoose));
  EXPECT_FALSE(lab::inside(-kInf, kInf, kLoose));
  EXPECT_FALSE(lab::inside(kInf, 1, kLoose));
  EXPECT_FALSE(lab::inside(1, kInf, kLoose));  // |1 - inf| <= 0.001 * inf
}

TEST(Compare, RefusesAToleranceThatLetsEverythingPass) {
  const auto values = ramp(3);
  EXPECT_THROW(compare(values, values, {kInf, 0}), std::invalid_argument);
  EXPECT_THROW(compare(values, values, {0, kInf}), std::invalid_argument);
  EXPECT_THROW(compare(values, values, {kNan, 0}), std::invalid_argument);
  EXPECT_THROW(compare(values, values, {-1, 0}), std::invalid_argument);
  EXPECT_THROW(compare(1.0, 1.0, {kInf, 0}), std::invalid_argument);
}

TEST(Compare, FindsAllRight) {
  const auto result = compare(ramp(257), ramp(257), {0, 0});
  EXPECT_TRUE(result.ok);
  EXPECT_TRUE(static_cast<bool>(result));
  EXPECT_EQ(result.message, "all 257 elements match");
}

TEST(Compare, TakesNothingForNothingAsRight) {
  EXPECT_TRUE(compare(std::vector<float>{}, std::vector<double>{}, {0, 0}).ok);
  EXPECT_TRUE(compare_exact(std::vector<int>{}, std::vector<int>{}).ok);
}

TEST(Compare, FindsOneWrongElementWhereverItIs) {
  for (const std::size_t n : {1u, 2u, 31u, 32u, 33u, 257u}) {
    for (const std::size_t place : {std::size_t{0}, n / 2, n - 1}) {
      auto actual = ramp(n);
      actual[place] += 0.5f;
      const auto result = compare(actual, ramp(n), {0.25, 0});
      EXPECT_FALSE(result.ok);
      EXPECT_NE(result.message.find("first at [" + std::to_string(place) + "]"), std::string::npos)
          << result.message;
      EXPECT_TRUE(result.message.starts_with("1 of ")) << result.message;
    }
  }
}

TEST(Compare, CountsFirstAndThenNamesTheFirstPlace) {
  std::vector<double> expected(257, 1.5);
  std::vector<float> actual(257, 1.5f);
  actual[256] = never_written<float>();
  EXPECT_EQ(compare(actual, expected, kLoose).message,
            "1 of 257 elements differs; first at [256]: got nan, expected 1.5 (never written?)");
  actual[254] = 2;
  actual[255] = never_written<float>();
  EXPECT_EQ(compare(actual, expected, kLoose).message,
            "3 of 257 elements differ; first at [254]: got 2, expected 1.5");
}

TEST(Compare, SaysNeverWrittenOfTheBytesThatNewMemoryHas) {
  const auto message = [](float got) {
    return compare(std::vector{got}, std::vector{1.0f}, kLoose).message;
  };
  constexpr const char* kHint = "(never written?)";
  for (const int now : {0xFF, 0x5A, 0xC3}) {
    lab::detail::new_memory_byte = static_cast<unsigned char>(now);
    for (const int byte : {0xFF, 0x5A, 0xC3})
      EXPECT_EQ(message(filled_with<float>(byte)).find(kHint) != std::string::npos, byte == now)
          << byte << " where new memory has " << now;
    EXPECT_EQ(message(kNan).find(kHint), std::string::npos) << "of a NaN that was computed";
  }
}

TEST(Compare, FindsThatNothingWasWritten) {
  const std::vector<float> actual(4, never_written<float>());
  const std::vector<float> expected(4, 0.0f);
  EXPECT_EQ(compare(actual, expected, kLoose).message,
            "4 of 4 elements differ; first at [0]: got nan, expected 0 (never written?)");
}

TEST(Compare, DoesNotCallAComputedNanNeverWritten) {
  const std::vector<float> actual = {kNan};
  const auto result = compare(actual, std::vector<float>{1}, kLoose);
  EXPECT_EQ(result.message, "1 of 1 element differs; first at [0]: got nan, expected 1");
}

TEST(Compare, FindsInfinities) {
  const std::vector<float> expected = {1, 2, 3};
  EXPECT_EQ(compare(std::vector<float>{1, kInf, -kInf}, expected, kLoose).message,
            "2 of 3 elements differ; first at [1]: got inf, expected 2");
  EXPECT_TRUE(
      compare(std::vector<float>{kInf, -kInf}, std::vector<double>{kInf, -kInf}, {0, 0}).ok);
}

TEST(Compare, SaysThatAReferenceOfNanIsAtFault) {
  const std::vector<float> values = {kNan};
  EXPECT_EQ(compare(values, values, kLoose).message,
            "1 of 1 element differs; first at [0]: got nan, expected nan (the reference itself is "
            "not a number)");
}

TEST(Compare, DoesNotTakeAllZerosForAResult) {
  EXPECT_FALSE(compare(std::vector<float>(33, 0.0f), ramp(33), kLoose).ok);
  EXPECT_FALSE(compare(ramp(33), std::vector<float>(33, 0.0f), kLoose).ok);
  EXPECT_TRUE(compare(std::vector<float>{-0.0f}, std::vector<float>{0.0f}, {0, 0}).ok);
}

TEST(Compare, FailsForWrongLengths) {
  EXPECT_EQ(compare(ramp(256), ramp(257), kLoose).message, "got 256 elements, expected 257");
  EXPECT_FALSE(compare(ramp(258), ramp(257), kLoose).ok);
  EXPECT_FALSE(compare(std::vector<float>{}, ramp(1), kLoose).ok);
  EXPECT_FALSE(compare(ramp(1), std::vector<float>{}, kLoose).ok);
  EXPECT_FALSE(compare_exact(ramp(256), ramp(257)).ok);
}

TEST(Compare, FindsPermutedShiftedStaleAndTruncatedData) {
  const auto expected = lab::random_floats(1000, 7, -1, 1);
  auto permuted = expected;
  std::reverse(permuted.begin(), permuted.end());
  EXPECT_FALSE(compare(permuted, expected, kLoose).ok);
  auto shifted = expected;
  std::rotate(shifted.begin(), shifted.begin() + 1, shifted.end());
  EXPECT_FALSE(compare(shifted, expected, kLoose).ok);
  EXPECT_FALSE(compare(lab::random_floats(1000, 8, -1, 1), expected, kLoose).ok);
  auto truncated = expected;
  std::fill(truncated.begin() + 999, truncated.end(), never_written<float>());
  EXPECT_FALSE(compare(truncated, expected, kLoose).ok);
}

TEST(Compare, ShowsTheDifferenceOfNumbersThatPrintAlike) {
  const std::vector<float> actual = {0.1f};
  const std::vector<double> expected = {0.1};
  const auto result = compare(actual, expected, {0, 0});
  EXPECT_FALSE(result.ok);
  EXPECT_NE(result.message.find("they differ by 1.49"), std::string::npos) << result.message;
}

TEST(Compare, TakesSpansAndArraysToo) {
  const std::array<float, 3> actual = {1, 2, 3};
  const std::vector<double> expected = {1, 2, 3};
  EXPECT_TRUE(compare(actual, std::span<const double>(expected), {0, 0}).ok);
  EXPECT_TRUE(compare(std::span<const float>(actual), expected, {0, 0}).ok);
  EXPECT_FALSE(compare(std::span<const float>(actual).first(2), expected, {0, 0}).ok);
}

TEST(CompareOneNumber, SaysBothNumbersAndTheTolerance) {
  EXPECT_TRUE(compare(2.0, 2.25, {0.25, 0}).ok);
  EXPECT_EQ(compare(2.0, 2.5, {0.25, 0}).message,
            "got 2, expected 2.5; they differ by 0.5; at most 0.25 is allowed");
  EXPECT_EQ(compare(2.0, 2.5, {0, 0}).message,
            "got 2, expected 2.5; they differ by 0.5, and must be equal");
  EXPECT_FALSE(compare(kNan, 2.5, {0.25, 0}).ok);
  EXPECT_FALSE(compare(kInf, 2.5, {0.25, 0.5}).ok);
}

TEST(CompareExact, SeesTheSmallestDifference) {
  const std::vector<float> expected = {1, 2, 3};
  std::vector<float> actual = expected;
  EXPECT_TRUE(compare_exact(actual, expected).ok);
  actual[2] = std::nextafter(3.0f, 4.0f);
  EXPECT_FALSE(compare_exact(actual, expected).ok);
  EXPECT_FALSE(compare_exact(std::vector<float>{kNan}, std::vector<float>{kNan}).ok);
}

TEST(CompareExact, ComparesIntegersOfDifferentTypesByValue) {
  EXPECT_TRUE(compare_exact(std::vector<int>{5}, std::vector<std::uint16_t>{5}).ok);
  EXPECT_FALSE(compare_exact(std::vector<int>{-1}, std::vector<unsigned>{0xFFFFFFFFu}).ok);
  EXPECT_FALSE(compare_exact(std::vector<std::uint64_t>{1ull << 53},
                             std::vector<std::uint64_t>{(1ull << 53) + 1})
                   .ok);
}

TEST(CompareExact, HintsAtIntegersThatNobodyWrote) {
  EXPECT_EQ(
      compare_exact(std::vector<int>{7, never_written<int>()}, std::vector<int>{7, 8}).message,
      "1 of 2 elements differs; first at [1]: got -1, expected 8 (never written?)");
  EXPECT_TRUE(compare_exact(std::vector<int>{-1}, std::vector<int>{-1}).ok);
}

TEST(CompareExact, PrintsBytesAsNumbers) {
  EXPECT_EQ(compare_exact(std::vector<std::uint8_t>{65}, std::vector<std::uint8_t>{66}).message,
            "1 of 1 element differs; first at [0]: got 65, expected 66");
}

TEST(CompareExact, NamesThePixelByColumnAndRow) {
  lab::bitmap expected(5, 3);
  lab::bitmap actual = expected;
  EXPECT_EQ(compare_exact(actual, expected).message, "all 15 pixels match");
  actual.at(4, 1) = {1, 2, 3, 255};
  actual.at(0, 2) = {9, 9, 9, 255};
  EXPECT_EQ(compare_exact(actual, expected).message,
            "2 of 15 pixels differ; first at x = 4, y = 1: got rgba(1, 2, 3, 255), expected "
            "rgba(0, 0, 0, 255)");
}

TEST(CompareExact, DoesNotTakeATurnedPictureForTheSame) {
  EXPECT_EQ(compare_exact(lab::bitmap(3, 5), lab::bitmap(5, 3)).message,
            "the picture is 3 x 5, expected 5 x 3");
}

}  // namespace
