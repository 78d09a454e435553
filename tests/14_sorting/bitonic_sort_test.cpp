// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "bitonic_sort.hpp"

#include <cstddef>
#include <cstdint>

#include "reference.hpp"
#include "steps.hpp"

namespace {

namespace network = lab::bitonic_sort;

using named_step = lab::testing::named<network::step>;
constexpr named_step kSteps[] = {{network::step::shared_tiles, "shared_tiles"},
                                 {network::step::registers, "registers"}};

struct tile {
  std::size_t length;
  std::uint64_t barriers;
};
/// What a step sorts in one launch: with a barrier for each of the 55 stages, or for each group of
/// a level, of which the levels 1 to 12 have 24.
constexpr tile tile_of(network::step version) {
  return version == network::step::shared_tiles ? tile{1024, 55} : tile{4096, 24};
}

}  // namespace

#include "network_tests.hpp"  // needs the names above

namespace {

TEST(Registers, GoToGlobalMemoryLessOften) {
  // Levels 13 to 16: a launch for up to four stages, and one for the tiles.
  const auto input = make_key_values(65536, 9);
  EXPECT_LE(sort(step::registers, input.keys, input.values, {1, 65536}).launches, 9U);
}

TEST(SharedTiles, HaveNoLaunchForWhatHappensWithinThem) {
  // Levels 11 to 14: a launch for each stage beyond the tiles, one to four of them, and one for the
  // others.
  const auto input = make_key_values(16384, 10);
  EXPECT_LE(sort(step::shared_tiles, input.keys, input.values, {1, 16384}).launches, 15U);
}

TEST(Stages, AreThoseOfTheNetwork) {
  EXPECT_EQ(lab::bitonic_sort::stages(1), 0U);
  EXPECT_EQ(lab::bitonic_sort::stages(2), 1U);
  EXPECT_EQ(lab::bitonic_sort::stages(1024), 55U);
  EXPECT_EQ(lab::bitonic_sort::stages(std::size_t{1} << 20), 210U);
}

}  // namespace
