// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "odd_even_merge_sort.hpp"

#include <cstddef>

#include "reference.hpp"

namespace {

namespace network = lab::odd_even_merge_sort;

struct named_step {
  network::step value;
  const char* name;
};
constexpr named_step kSteps[] = {{network::step::shared_tiles, "shared_tiles"},
                                 {network::step::columns_and_windows, "columns_and_windows"}};

}  // namespace

#include "network_tests.hpp"  // needs the names above

namespace {

TEST(ColumnsAndWindows, TakeTwoLaunchesALevel) {
  const auto input = make_key_values(32768, 9);
  const auto result = sort(step::columns_and_windows, input.keys, input.values, {1, 32768});
  EXPECT_LE(result.launches, 7U);  // levels 13 to 15
}

TEST(Comparators, AreFewerThanThoseOfTheBitonicSort) {
  using lab::odd_even_merge_sort::bitonic_comparators;
  using lab::odd_even_merge_sort::comparators;
  EXPECT_EQ(comparators(1), 0U);
  EXPECT_EQ(comparators(4), 5U);  // two pairs; then two, and one in the middle
  EXPECT_EQ(comparators(8), 19U);
  EXPECT_EQ(bitonic_comparators(8), 24U);
  EXPECT_EQ(comparators(16), 63U);
  EXPECT_EQ(bitonic_comparators(16), 80U);
}

}  // namespace
