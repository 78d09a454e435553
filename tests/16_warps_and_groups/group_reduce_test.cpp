// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "group_reduce.hpp"

#include <cuda_runtime.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <utility>
#include <vector>

#include "fault_tests.hpp"
#include "full_size.hpp"
#include "lab/errors.hpp"
#include "lab/random.hpp"
#include "lab/time_kernel.hpp"
#include "lab_testing.hpp"
#include "reference.hpp"
#include "required_work.hpp"
#include "steps.hpp"

namespace {

using lab::random_words;
using lab::group_reduce::kDefaultLength;
using lab::group_reduce::kDefaultRows;
using lab::group_reduce::kDefaultTile;
using lab::group_reduce::reference_sums;
using lab::group_reduce::step;
using lab::group_reduce::sum_rows;
using lab::testing::as_required;
using lab::testing::bytes_of;
using lab::testing::expect_at_full_size;
using lab::testing::expect_failures_reported;
using lab::testing::is_time_of;
using lab::testing::matches;
using lab::testing::timed;
using lab::testing::work_of;
using vector = std::vector<std::uint32_t>;

using named_step = lab::testing::named<step>;
constexpr named_step kSteps[] = {
    {step::tiles, "tiles"}, {step::reduce, "reduce"}, {step::coalesced, "coalesced"}};
constexpr std::uint32_t kHalf = 1U << 31;  // about half of random values are less
constexpr std::uint32_t kMost = 0xFFFF'FFFF;

::testing::AssertionResult has_sums(step version, const vector& values, std::size_t length,
                                    std::uint32_t limit, unsigned tile) {
  return matches(lab::compare_exact(sum_rows(version, values, length, limit, tile).sums,
                                    reference_sums(values, length, limit)));
}

// --- who does the work ---------------------------------------------------------------------------

/// So many rows of so many elements, a multiple of 32. Of eight neighbours so many count.
void expect_groups_that_add_up(std::size_t rows, unsigned of_eight, std::size_t length = 96) {
  const std::size_t counted = rows * length * of_eight / 8;
  vector values = random_words(rows * length, 1);
  std::ranges::replace(values, kMost, 0U);
  for (std::size_t i = 0; i < values.size(); ++i)
    if (i % 8 >= of_eight) values[i] = kMost;
  for (const auto& [version, name] : kSteps)
    for (const unsigned tile : {1U, 2U, 4U, 8U, 16U, 32U}) {
      const auto done = work_of(
          [&, version = version] { return has_sums(version, values, length, kMost, tile); });
      EXPECT_TRUE(as_required(
          // A tile may take several rows, but all threads of a tile must share a row.
          done, {.threads = std::max<std::size_t>(rows / 4, 1) * tile,
                 .blocks = rows < 300 ? 1U : 2U,
                 .sent = bytes_of(values),
                 .fetched = rows * sizeof(std::uint32_t),
                 .reads = bytes_of(values),
                 .writes = rows * sizeof(std::uint32_t),
                 .reads_at_most = bytes_of(values) + rows * length / tile * sizeof(std::uint32_t),
                 .atomics = version == step::coalesced}))
          << name << ": " << rows << " rows of " << length << ", tiles of " << tile;
      std::uint64_t atomics = 0, shared = 0, exchanges = 0, reductions = 0;
      for (const auto& k : done.kernels) {
        atomics += k.atomics;
        shared += k.shared + k.shared_bytes;
        exchanges += k.warp_functions - k.warp_barriers;
        reductions += k.reductions;
      }
      if (done.kernels.empty()) continue;
      EXPECT_EQ(shared, 0U) << name << ": it uses shared memory";
      if (version == step::coalesced) {
        EXPECT_LE(atomics, rows * length / tile)
            << name << ": more than one atomic addition for " << tile << " elements";
        if (done.watched) {
          EXPECT_GE(atomics, counted / 32)
              << name << ": a group has at most 32 threads, with an element each";
        }
        if (tile > 1) {
          EXPECT_GE(exchanges, counted / 32)
              << name
              << ": the threads that have an element in the same iteration must add up their "
                 "elements";
        }
      } else {
        EXPECT_EQ(atomics, 0U) << name << ": the threads of a tile need no atomic operations";
        if (version == step::reduce) {
          EXPECT_EQ(reductions, rows) << name << ": one call per row, with tiles of " << tile;
          EXPECT_EQ(exchanges, reductions) << name << ": the sum of a tile needs no other call";
        } else {
          EXPECT_EQ(exchanges, rows * std::countr_zero(tile))
              << name << ": a shuffle in each level, with tiles of " << tile << " threads";
        }
      }
    }
}

REQUIRED_WORK(GroupsThatAddUpRowsWithoutSharedMemory) {
  for (const std::size_t rows : {3, 40, 300})
    for (const unsigned of_eight : {3U, 8U}) expect_groups_that_add_up(rows, of_eight);
  for (const std::size_t length : {1056, 8224}) expect_groups_that_add_up(2, 8, length);
}

REQUIRED_WORK(TilesThatShareRowsShorterThanATile) {
  for (const auto& [rows, length] :
       {std::pair<std::size_t, std::size_t>{1, 1}, {1, 5}, {40, 5}, {300, 1}, {300, 5}}) {
    const vector values = random_words(rows * length, 6);
    for (const auto& [version, name] : kSteps) {
      const auto done =
          work_of([&, version = version] { return has_sums(version, values, length, kMost, 8); });
      EXPECT_TRUE(as_required(done, {.threads = std::max<std::size_t>(rows / 4, 1) * length,
                                     .reads = bytes_of(values),
                                     .atomics = version == step::coalesced}))
          << name << ": " << rows << " rows of " << length;
      std::uint64_t exchanges = 0;
      for (const auto& k : done.kernels) exchanges += k.warp_functions - k.warp_barriers;
      // Shuffles in each of three levels, or a call of the library; so too for a single element.
      EXPECT_GE(exchanges, version == step::tiles    ? 3 * rows
                           : version == step::reduce ? rows
                                                     : 1)
          << name << ": " << rows << " rows of " << length;
    }
  }
}

// --- every step, every tile ----------------------------------------------------------------------

using Tiles = lab::testing::each_step_and<named_step, unsigned>;
INSTANTIATE_TEST_SUITE_P(Steps, Tiles,
                         ::testing::Combine(::testing::ValuesIn(kSteps),
                                            ::testing::Values(1, 2, 4, 8, 16, 32)),
                         lab::testing::by_step_and{"_tile"});

TEST_P(Tiles, AddUpRowsOfEveryLength) {
  // On both sides of a tile, of two tiles and of a warp; primes.
  const auto& [version, tile] = GetParam();
  for (const std::size_t length : {1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 131})
    for (const std::uint32_t limit : {kHalf, kMost})
      ASSERT_TRUE(
          has_sums(version.value, random_words(37 * length, length + tile), length, limit, tile))
          << "rows of " << length << " elements, limit " << limit;
}

TEST_P(Tiles, AddUpAnyNumberOfRows) {
  // Around the rows of a warp, of a block of 256 threads, and of two.
  const auto& [version, tile] = GetParam();
  const std::size_t warp = 32 / tile, block = 256 / tile;
  for (const std::size_t rows : {std::size_t{1}, std::size_t{2}, std::size_t{3}, warp, warp + 1,
                                 block - 1, block, block + 1, 2 * block - 1, 2 * block + 1})
    ASSERT_TRUE(has_sums(version.value, random_words(rows * 11, rows), 11, kHalf, tile))
        << rows << " rows";
}

TEST_P(Tiles, CountEachElementOnceInItsRow) {
  // Bit i % 32 of a sum says whether element i is in it: 32 elements per row, each in a row of its
  // own, and then all of them.
  const auto& [version, tile] = GetParam();
  vector values(33 * 32, 0);
  for (std::size_t i = 0; i < 32; ++i) {
    values[i * 32 + i] = 1U << i;
    values[32 * 32 + i] = 1U << i;
  }
  const vector sums = sum_rows(version.value, values, 32, kMost, tile).sums;
  ASSERT_EQ(sums.size(), 33U);
  for (std::size_t row = 0; row < 33; ++row) {
    const std::uint32_t expected = row < 32 ? 1U << row : kMost;
    EXPECT_EQ(sums[row], expected)
        << "row " << row << ": it should have counted the elements " << std::hex << expected
        << " and has counted " << sums[row] << " (a bit is an element)";
  }
}

TEST_P(Tiles, LeaveOutWhatDoesNotCount) {
  const auto& [version, tile] = GetParam();
  const vector values = random_words(50 * 40, 9);
  for (const std::uint32_t limit : {0U, 1U, 1U << 24, kHalf, kMost - (1U << 28), kMost})
    EXPECT_TRUE(has_sums(version.value, values, 40, limit, tile)) << "limit " << limit;
  const vector sevens(50 * 40, 7);
  EXPECT_TRUE(has_sums(version.value, sevens, 40, 7, tile)) << "none of them is less than 7";
  EXPECT_TRUE(has_sums(version.value, sevens, 40, 8, tile)) << "all of them are less than 8";
}

TEST_P(Tiles, HaveOneOrSomeOrAllElementsToAdd) {
  // One element per row that counts, each in another place; then one more in each row than in the
  // row before: those of a warp that have something to add are one, some, or all of its threads.
  const auto& [version, tile] = GetParam();
  constexpr std::size_t kLength = 35;
  vector values(kLength * kLength, kMost);
  for (std::size_t i = 0; i < kLength; ++i)
    values[i * kLength + i] = 100 + static_cast<unsigned>(i);
  EXPECT_TRUE(has_sums(version.value, values, kLength, kMost, tile));
  for (std::size_t row = 0; row < kLength; ++row)
    for (std::size_t i = 0; i < row; ++i)
      values[row * kLength + i] = static_cast<unsigned>(i + row);
  EXPECT_TRUE(has_sums(version.value, values, kLength, kMost, tile));
}

// --- every step ----------------------------------------------------------------------------------

using EachStep = lab::testing::each_step<named_step>;
INSTANTIATE_TEST_SUITE_P(Steps, EachStep, ::testing::ValuesIn(kSteps), lab::testing::by_step);

TEST_P(EachStep, AddsUpManyRowsAndLongOnes) {
  EXPECT_TRUE(has_sums(version(), random_words(20'011 * 3, 1), 3, kHalf, 2));
  EXPECT_TRUE(has_sums(version(), random_words(3 * 10'007, 2), 10'007, kHalf, 32));
  EXPECT_TRUE(has_sums(version(), random_words(3 * 1021, 3), 1021, kHalf, 4));
  EXPECT_TRUE(has_sums(version(), random_words(2 * 65'543, 4), 65'543, kHalf, 32));
}

TEST_P(EachStep, AddsWhatCancelsModulo2To32) {
  EXPECT_EQ(sum_rows(version(), vector{kHalf, kHalf, 5, kMost - 1}, 2, kMost, 2).sums,
            (vector{0, 3}));
}

TEST_P(EachStep, HasNothingToAddWithoutValues) {
  EXPECT_TRUE(sum_rows(version(), {}, 10, kMost, 8).sums.empty());
}

TEST_P(EachStep, RefusesOtherTiles) {
  const vector few = random_words(12, 1);
  for (const unsigned tile : {0U, 3U, 5U, 12U, 31U, 33U, 64U, 256U, kMost}) {
    EXPECT_THROW(sum_rows(version(), few, 4, kHalf, tile), lab::invalid_input) << tile;
    EXPECT_THROW(sum_rows(version(), {}, 4, kHalf, tile), lab::invalid_input) << tile;
  }
  EXPECT_TRUE(has_sums(version(), few, 4, kHalf, 16)) << "a later valid call must work";
}

TEST_P(EachStep, RefusesWhatIsNoMatrix) {
  const vector few = random_words(12, 1);
  EXPECT_THROW(sum_rows(version(), few, 0, kHalf, 4), lab::invalid_input);
  EXPECT_THROW(sum_rows(version(), {}, 0, kHalf, 4), lab::invalid_input);
  for (const std::size_t length : {5, 11, 13, 24})
    EXPECT_THROW(sum_rows(version(), few, length, kHalf, 4), lab::invalid_input) << length;
}

TEST_P(EachStep, ForgetsThePreviousCall) {
  const vector many = random_words(5000, 1), few = random_words(40, 2);
  EXPECT_TRUE(has_sums(version(), many, 10, kHalf, 8));
  EXPECT_TRUE(has_sums(version(), few, 10, kHalf, 8));
  EXPECT_TRUE(has_sums(version(), many, 10, kHalf, 8));
}

TEST_P(EachStep, AddsToZeroInEveryLaunchThatIsTimed) {
  // As the program does: the kernel is launched again and again, and the result is the last one's.
  const lab::repeated_timing several(3);
  EXPECT_TRUE(has_sums(version(), random_words(50 * 20, 7), 20, kHalf, 8));
}

TEST_P(EachStep, SaysHowLongItTook) {
  EXPECT_TRUE(is_time_of(timed::kernel, [&] {
    return sum_rows(version(), random_words(10'000, 1), 20, kHalf, 8).kernel_ms;
  }));
}

FAULT_TEST_P(EachStep, ReportsEveryCallThatFails) {
  const vector values = random_words(1000, 3);
  expect_failures_reported([&] { return has_sums(version(), values, 20, kHalf, 8); }, values);
}

TEST_P(EachStep, AddsUpTheProgramsRows) {
  expect_at_full_size([&] {
    return has_sums(version(), random_words(kDefaultRows * kDefaultLength, 4), kDefaultLength,
                    kHalf, kDefaultTile);
  });
}

TEST_P(EachStep, AddsUpTheRowsOfManyBlocks) {
  // A block has 256 threads. A thread that is alone in its tile never waits; and with few rows
  // there are few atomic additions. Otherwise these would take seconds.
  const unsigned tile = version() == step::coalesced ? 32 : 1;
  expect_at_full_size([&] {
    return has_sums(version(), random_words(256 / tile * lab::testing::kManyBlocks, 5), 1, kHalf,
                    tile);
  });
}

}  // namespace
