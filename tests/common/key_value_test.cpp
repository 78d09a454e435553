// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "lab/key_value.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "lab_testing.hpp"

namespace {

using lab::batch;
using lab::check_sorted;
using lab::direction;
using lab::key_values;
using lab::testing::matches;

const key_values kInput{{7, 3, 7, 1, 2, 2, 9, 0}, {0, 1, 2, 3, 4, 5, 6, 7}};
const key_values kSorted{{1, 3, 7, 7, 0, 2, 2, 9}, {3, 1, 2, 0, 7, 4, 5, 6}};

TEST(CheckSorted, TakesPairsInOrderAndEqualKeysInAnyOrder) {
  EXPECT_TRUE(matches(check_sorted(kSorted, kInput, {2, 4})));
  key_values other = kSorted;
  std::swap(other.values[2], other.values[3]);  // both belong to a 7
  EXPECT_TRUE(matches(check_sorted(other, kInput, {2, 4})));
}

TEST(CheckSorted, TakesTheOtherDirectionOnlyWhereItIsAskedFor) {
  key_values falling = kSorted;
  for (const std::size_t first : {std::size_t{0}, std::size_t{4}}) {
    const auto at = static_cast<std::ptrdiff_t>(first);
    std::reverse(falling.keys.begin() + at, falling.keys.begin() + at + 4);
    std::reverse(falling.values.begin() + at, falling.values.begin() + at + 4);
  }
  EXPECT_TRUE(matches(check_sorted(falling, kInput, {2, 4}, direction::descending)));
  EXPECT_FALSE(check_sorted(falling, kInput, {2, 4}));
  EXPECT_FALSE(check_sorted(kSorted, kInput, {2, 4}, direction::descending));
}

TEST(CheckSorted, SeesWhatIsWrong) {
  EXPECT_FALSE(check_sorted(kInput, kInput, {2, 4}));   // nobody sorted
  EXPECT_FALSE(check_sorted(kSorted, kInput, {1, 8}));  // two halves are no whole
  EXPECT_TRUE(check_sorted({kSorted.keys, {}}, {kInput.keys, {}}, {2, 4}));
  EXPECT_FALSE(check_sorted({kSorted.keys, {}}, kInput, {2, 4}));  // the values are missing
  EXPECT_FALSE(check_sorted({{}, {}}, kInput, {2, 4}));
  key_values zeros{std::vector<std::uint32_t>(8), kSorted.values};
  EXPECT_FALSE(check_sorted(zeros, kInput, {2, 4}));
  key_values left_behind{kSorted.keys, kInput.values};  // the values stayed where they were
  const auto result = check_sorted(left_behind, kInput, {2, 4});
  EXPECT_FALSE(result);
  EXPECT_NE(result.message.find("a value is not with its key"), std::string::npos)
      << result.message;
  key_values whole = kInput;  // sorted over the edge between two arrays
  std::ranges::sort(whole.keys);
  EXPECT_FALSE(check_sorted(whole, kInput, {2, 4}));
}

TEST(MakeKeyValues, StaysWithinTheBoundAndReachesIt) {
  const auto made = lab::make_key_values(1000, 1, 3);
  for (std::uint32_t key = 0; key <= 3; ++key)
    EXPECT_GT(std::ranges::count(made.keys, key), 150) << key;
  EXPECT_EQ(*std::ranges::max_element(made.keys), 3U);
  EXPECT_EQ(made.values[999], 999U);
  const auto all_bits = lab::make_key_values(1000, 1);
  EXPECT_GT(*std::ranges::max_element(all_bits.keys), 0xF0000000U);
  EXPECT_LT(*std::ranges::min_element(all_bits.keys), 0x10000000U);
}

TEST(RequireNetworkInput, RefusesWhatANetworkCannotSort) {
  const std::vector<std::uint32_t> keys(12), values(11);
  const auto refused = [&](std::size_t n, batch arrays, bool with_values = false) {
    try {
      lab::require_network_input("sort", std::span(keys).first(n),
                                 with_values ? std::span(values) : std::span(values).first(0),
                                 arrays);
      return false;
    } catch (const lab::invalid_input& error) {
      return std::string(error.what()).starts_with("sort: ");
    }
  };
  EXPECT_FALSE(refused(12, {3, 4}));
  EXPECT_FALSE(refused(12, {12, 1}));
  EXPECT_FALSE(refused(0, {0, 8}));
  EXPECT_FALSE(refused(11, {11, 1}, true));
  EXPECT_TRUE(refused(12, {4, 3}));
  EXPECT_TRUE(refused(0, {3, 0}));
  EXPECT_TRUE(refused(12, {2, 4}));
  EXPECT_TRUE(refused(12, {3, 4}, true));
  EXPECT_TRUE(refused(0, {std::size_t{1} << 63, 2}));  // 2^64, which is 0 again
  EXPECT_TRUE(refused(0, {0, std::size_t{1} << 32}));
}

}  // namespace
