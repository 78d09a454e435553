// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "bitonic_sort.hpp"

#include <cstddef>

#include "reference.hpp"
#include "steps.hpp"

namespace {

namespace network = lab::bitonic_sort;

using named_step = lab::testing::named<network::step>;
constexpr named_step kSteps[] = {{network::step::shared_tiles, "shared_tiles"},
                                 {network::step::registers, "registers"}};

}  // namespace

#include "network_tests.hpp"  // needs the names above

namespace {

REQUIRED_WORK(TilesThatAreSortedByTheirThreadsInOneLaunch) {
  for (const auto& [version, name] : kSteps)
    for (const bool pairs : {true, false}) {
      const bool small = version == step::shared_tiles;
      const std::size_t length = small ? 1024 : 4096;
      key_values input = make_key_values(16384, 1);
      if (!pairs) input.values.clear();
      const std::size_t bytes = bytes_of(input.keys) + bytes_of(input.values);
      const lab::testing::work done = work_of([&, version = version] {
        return sorts(version, input, {16384 / length, length});
      });
      // A barrier for each of the 55 stages, or for each group of a level, of which the levels 1 to
      // 12 have 24; whoever waits before it and behind it has twice as many.
      EXPECT_TRUE(as_required(done, {.threads = 1024,
                                     .blocks = 4,
                                     .barriers = small ? 2U * 55 + 2 : 2U * 24 + 2,
                                     .reads = bytes,
                                     .writes = bytes,
                                     .reads_at_most = bytes,
                                     .shared_memory = true}))
          << name << (pairs ? ", pairs" : ", keys alone");
      EXPECT_EQ(done.kernels.size(), 1U) << name;
      for (const auto& k : done.kernels) {
        if (small) {
          EXPECT_EQ(k.threads_per_block, 512U) << name;
        }
        if (done.watched) {
          EXPECT_LT(8 * k.shared_of_busiest, k.shared) << name << ": one thread sorts the tile";
        }
      }
    }
}

REQUIRED_WORK(AsManyLaunchesAsAreClaimed) {
  const auto input = make_key_values(16384, 12);
  for (const auto& [version, name] : kSteps) {
    unsigned claimed = 0;
    const lab::testing::work done = work_of([&, version = version] {
      const auto done_so = sort(version, input.keys, input.values, {1, 16384});
      claimed = done_so.launches;
      return matches(check_sorted(done_so.sorted, input, {1, 16384}, direction::ascending));
    });
    EXPECT_EQ(done.kernels.size(), claimed) << name;
    for (const auto& k : done.kernels)
      if (version == step::shared_tiles) {
        EXPECT_EQ(k.threads_per_block, 512U) << name;
      }
  }
}

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
