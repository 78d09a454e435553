// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "lab/random.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "lab/errors.hpp"

namespace {

// From the published definition of SplitMix64, computed with arbitrary-precision integers.
TEST(RandomSource, GivesTheGeneratorsKnownNumbers) {
  lab::random_source source(1234567);
  EXPECT_EQ(source.bits(), 6457827717110365317u);
  EXPECT_EQ(source.bits(), 3203168211198807973u);
  EXPECT_EQ(source.bits(), 9817491932198370423u);
}

TEST(RandomFloats, AreTheSameForTheSameSeedOnly) {
  EXPECT_EQ(lab::random_floats(100, 5, -1, 1), lab::random_floats(100, 5, -1, 1));
  EXPECT_NE(lab::random_floats(100, 5, -1, 1), lab::random_floats(100, 6, -1, 1));
}

TEST(RandomFloats, StartTheSameForEveryLength) {
  const auto few = lab::random_floats(10, 5, -1, 1);
  const auto many = lab::random_floats(1000, 5, -1, 1);
  EXPECT_TRUE(std::equal(few.begin(), few.end(), many.begin()));
}

TEST(RandomFloats, FillTheRangeEvenlyWithoutItsEnd) {
  const auto values = lab::random_floats(100000, 3, -2, 6);
  std::array<int, 8> counts{};
  for (const float value : values) {
    ASSERT_GE(value, -2);
    ASSERT_LT(value, 6);
    ++counts[static_cast<std::size_t>(std::floor(value + 2))];
  }
  for (const int count : counts) EXPECT_NEAR(count, 12500, 5 * std::sqrt(12500));
}

TEST(RandomFloats, StayBelowAnEndThatRoundingReaches) {
  const float high = std::nextafter(1.0f, 2.0f);
  for (const float value : lab::random_floats(1000, 1, 1.0f, high)) ASSERT_EQ(value, 1.0f);
}

TEST(RandomFloats, ReachOverTheWholeRangeOfFloat) {
  constexpr float kMax = std::numeric_limits<float>::max();
  for (const float value : lab::random_floats(1000, 1, -kMax, kMax))
    ASSERT_TRUE(std::isfinite(value));
}

TEST(RandomFloats, RefuseARangeThatIsNone) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THROW(lab::random_floats(1, 1, 2, 1), lab::invalid_input);
  EXPECT_THROW(lab::random_floats(1, 1, kNan, 1), lab::invalid_input);
  EXPECT_THROW(lab::random_ints(1, 1, 2, 1), lab::invalid_input);
  EXPECT_EQ(lab::random_floats(2, 1, 7, 7), (std::vector<float>{7, 7}));
  EXPECT_TRUE(lab::random_floats(0, 1, 0, 1).empty());
}

TEST(RandomInts, TakeBothEndsAndAllBetweenEvenly) {
  std::array<int, 6> counts{};
  for (const int value : lab::random_ints(60000, 4, -2, 3)) {
    ASSERT_GE(value, -2);
    ASSERT_LE(value, 3);
    ++counts[static_cast<std::size_t>(value + 2)];
  }
  for (const int count : counts) EXPECT_NEAR(count, 10000, 5 * std::sqrt(10000));
}

TEST(RandomInts, ReachOverTheWholeRangeOfInt) {
  constexpr int kMin = std::numeric_limits<int>::min();
  constexpr int kMax = std::numeric_limits<int>::max();
  const auto values = lab::random_ints(1000, 4, kMin, kMax);
  EXPECT_LT(*std::min_element(values.begin(), values.end()), kMin / 2);
  EXPECT_GT(*std::max_element(values.begin(), values.end()), kMax / 2);
  EXPECT_EQ(lab::random_ints(1, 4, kMax, kMax)[0], kMax);
}

TEST(RandomWords, HaveEveryBitSetInHalfOfThem) {
  std::array<int, 32> counts{};
  for (const auto value : lab::random_words(40000, 9))
    for (std::size_t bit = 0; bit < counts.size(); ++bit) counts[bit] += value >> bit & 1;
  for (const int count : counts) EXPECT_NEAR(count, 20000, 5 * std::sqrt(10000));
}

TEST(RandomBytes, GiveEveryValueEvenly) {
  std::array<int, 256> counts{};
  for (const auto value : lab::random_bytes(256000, 9)) ++counts[value];
  for (const int count : counts) EXPECT_NEAR(count, 1000, 5 * std::sqrt(1000));
}

// The numbers below are part of what the course promises: other machines get the same.
TEST(RandomNumbers, AreTheSameOnEveryMachine) {
  EXPECT_EQ(lab::random_floats(3, 42, -1, 1),
            (std::vector<float>{0.48312974f, -0.680179238f, -0.44279778f}));
  EXPECT_EQ(lab::random_ints(3, 42, -100, 100), (std::vector<int>{-45, -51, -67}));
  EXPECT_EQ(lab::random_words(3, 42),
            (std::vector<std::uint32_t>{3184996902, 686809907, 1196582743}));
  EXPECT_EQ(lab::random_bytes(3, 42), (std::vector<std::uint8_t>{189, 40, 71}));
}

}  // namespace
