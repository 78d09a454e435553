// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "block_scan.hpp"

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "fault_tests.hpp"
#include "full_size.hpp"
#include "lab/errors.hpp"
#include "lab/random.hpp"
#include "lab_testing.hpp"
#include "reference.hpp"
#include "required_work.hpp"
#include "steps.hpp"

namespace {

using lab::random_words;
using lab::block_scan::kDefaultLength;
using lab::block_scan::kDefaultRows;
using lab::block_scan::kDefaultThreads;
using lab::block_scan::kind;
using lab::block_scan::reference_scan;
using lab::block_scan::scan;
using lab::block_scan::step;
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
    {step::hillis_steele, "hillis_steele"}, {step::blelloch, "blelloch"}, {step::warps, "warps"}};
constexpr kind kKinds[] = {kind::inclusive, kind::exclusive};

::testing::AssertionResult is_scanned(step version, kind mode, const vector& values,
                                      std::size_t row_length, unsigned threads) {
  auto result = lab::compare_exact(scan(version, mode, values, row_length, threads).values,
                                   reference_scan(mode, values, row_length));
  result.message += std::string(mode == kind::inclusive ? " (inclusive" : " (exclusive") +
                    ", rows of " + std::to_string(row_length) + ", blocks of " +
                    std::to_string(threads) + ")";
  return matches(result);
}

// --- who does the work ---------------------------------------------------------------------------

/// So many rows, each of so many tiles and a half.
void expect_shared_sums(std::size_t rows, std::size_t tiles) {
  // Hillis and Steele read and write each element of shared memory once per level: 21 accesses with
  // 1024 threads. Up and down the tree there are 11 or 12 for each element, whatever the block. (An
  // exclusive scan may store each sum one element further on: a warp then stores to five sectors
  // where four would do.)
  constexpr unsigned kThreads = 1024;
  const std::size_t length = tiles * kThreads + kThreads / 2;
  const vector values = random_words(rows * length, 1);
  for (const auto& [version, name] : kSteps) {
    const auto done = work_of([&, version = version] {
      return is_scanned(version, kind::exclusive, values, length, kThreads);
    });
    EXPECT_TRUE(as_required(done, {.threads = rows * kThreads,
                                   .blocks = rows,
                                   .sent = bytes_of(values),
                                   .fetched = bytes_of(values),
                                   .reads = bytes_of(values),
                                   .writes = bytes_of(values),
                                   .reads_at_most = bytes_of(values),
                                   .shared_memory = true,
                                   .sectors = lab::testing::kNeighbours}))
        << name << ": rows of " << length;
    if (!done.watched) continue;
    std::uint64_t shared = 0, of_busiest = 0, written = 0;
    for (const auto& k : done.kernels) {
      shared += k.shared;
      of_busiest += k.shared_of_busiest;
      written += k.writes;
    }
    EXPECT_EQ(written, bytes_of(values)) << name << ": bytes written, each result once";
    const std::uint64_t in_tiles = rows * (tiles + 1) * kThreads;
    const std::uint64_t most = version == step::warps ? 4 : version == step::blelloch ? 16 : 64;
    EXPECT_LE(shared, most * in_tiles)
        << name << ": more than " << most << " accesses to shared memory for each element";
    // A thread with a pair in every level of the tree has seven accesses in each of ten levels.
    EXPECT_LE(of_busiest, 128 * rows * (tiles + 1))
        << name << ": one thread of each block adds up what all of them should";
    if (version != step::warps) {
      EXPECT_GT(shared, 4 * in_tiles)
          << name << ": so few accesses to shared memory are those of the step warps";
    }
    // Hillis and Steele's levels: a load and a store by nearly every thread in each of ten.
    if (version == step::hillis_steele) {
      EXPECT_GT(shared, 14 * in_tiles)
          << name << ": so few accesses to shared memory are those of the step blelloch";
    }
  }
}

REQUIRED_WORK(BlocksWhoseThreadsShareTheSumsOfARow) {
  expect_shared_sums(5, 2);
  expect_shared_sums(1, 9);
}

REQUIRED_WORK(BlocksOfAsManyThreadsAsWereAskedFor) {
  for (const auto& [version, name] : kSteps)
    for (const unsigned threads : {32U, 64U, 512U}) {
      const lab::testing::work done = work_of([&, version = version] {
        return is_scanned(version, kind::inclusive, random_words(3 * 40, 1), 40, threads);
      });
      EXPECT_TRUE(as_required(done, {.threads = 3 * std::min(threads, 40U), .blocks = 3})) << name;
      for (const auto& k : done.kernels)
        EXPECT_EQ(std::pair(k.threads_per_block, k.blocks),
                  std::pair(std::uint64_t{threads}, std::uint64_t{3}))
            << name << ": threads of a block, and blocks";
      // A block of one warp could do without shared memory; but that would be the step warps.
      if (!done.watched || version == step::warps) continue;
      std::uint64_t shared = 0;
      for (const auto& k : done.kernels) shared += k.shared;
      EXPECT_GT(shared, 4 * 3 * 40U)
          << name << ": so few accesses to shared memory are those of the step warps, in blocks of "
          << threads << " threads";
    }
}

REQUIRED_WORK(ThreadsShareShortRowsToo) {
  for (const auto& [version, name] : kSteps)
    for (const std::size_t rows : {1, 2})
      for (const std::size_t length : {1, 2, 3, 40})
        for (const kind mode : kKinds) {
          vector values = random_words(rows * length, 1);
          values[0] |= 1;  // (a single 0 would be as if nothing had come back)
          const std::size_t bytes = bytes_of(values);
          EXPECT_TRUE(as_required(work_of([&, version = version] {
                                    return is_scanned(version, mode, values, length, 64);
                                  }),
                                  {.threads = rows * length,
                                   .blocks = rows,
                                   .fetched = length == 1 && mode == kind::exclusive ? 0 : bytes,
                                   .reads_at_most = bytes,
                                   .shared_memory = length == 40 && version != step::warps}))
              << name << ": " << rows << " rows of " << length;
        }
}

REQUIRED_WORK(TheDeviceTellsTheKindsApart) {
  // A host that adds or subtracts the values itself gets the same sums back for both kinds.
  const vector values = random_words(3 * 100, 1);
  for (const auto& [version, name] : kSteps) {
    std::multiset<std::uint64_t> came_back[2];
    for (const kind mode : kKinds)
      came_back[mode == kind::exclusive] = work_of([&, version = version] {
                                             return is_scanned(version, mode, values, 100, 64);
                                           }).came_back();
    EXPECT_NE(came_back[0], came_back[1])
        << name << ": the same sums came back for both kinds, so the host has changed them";
  }
}

// --- every step, every block and row -------------------------------------------------------------

using Rows = lab::testing::each_step_and<named_step, unsigned>;
INSTANTIATE_TEST_SUITE_P(Steps, Rows,
                         ::testing::Combine(::testing::ValuesIn(kSteps),
                                            ::testing::Values(32, 64, 128, 256, 512, 1024)),
                         lab::testing::by_step_and{"_threads"});

TEST_P(Rows, OfAnyLengthAreScanned) {
  // Around a warp, the block, two and three of them; primes.
  const auto& [version, threads] = GetParam();
  for (const std::size_t length :
       {std::size_t{1}, std::size_t{2}, std::size_t{3}, std::size_t{31}, std::size_t{32},
        std::size_t{33}, std::size_t{63}, std::size_t{65}, std::size_t{threads} - 1,
        std::size_t{threads}, std::size_t{threads} + 1, 2 * std::size_t{threads} - 1,
        2 * std::size_t{threads}, 2 * std::size_t{threads} + 1, 3 * std::size_t{threads} + 7,
        std::size_t{1021}})
    for (const kind mode : kKinds)
      ASSERT_TRUE(
          is_scanned(version.value, mode, random_words(3 * length, length), length, threads));
}

TEST_P(Rows, CountTheirElements) {
  // Of ones: 1, 2, 3, … A row that began with the sum of the one before it would show.
  const auto& [version, threads] = GetParam();
  const std::size_t length = 2 * threads + 5;
  const vector scanned =
      scan(version.value, kind::inclusive, vector(2 * length, 1), length, threads).values;
  ASSERT_EQ(scanned.size(), 2 * length);
  for (std::size_t i = 0; i < scanned.size(); ++i) ASSERT_EQ(scanned[i], i % length + 1) << i;
}

TEST_P(Rows, KnowWhereEachElementBelongs) {
  // A single 1 after which everything is 1, at every position of a row of a tile and a half.
  const auto& [version, threads] = GetParam();
  const std::size_t length = threads + threads / 2;
  for (std::size_t at = 0; at<length; at += threads> 64 ? 37 : 1) {
    vector values(length);
    values[at] = 1;
    for (const kind mode : kKinds)
      ASSERT_TRUE(is_scanned(version.value, mode, values, length, threads)) << "1 at " << at;
  }
}

// --- every step ----------------------------------------------------------------------------------

using EachStep = lab::testing::each_step<named_step>;
INSTANTIATE_TEST_SUITE_P(Steps, EachStep, ::testing::ValuesIn(kSteps), lab::testing::by_step);

TEST_P(EachStep, TakesBlocksOf256ThreadsUnlessToldOtherwise) {
  const vector values = random_words(2 * 999, 5);
  for (const kind mode : kKinds)
    EXPECT_TRUE(matches(lab::compare_exact(scan(version(), mode, values, 999).values,
                                           reference_scan(mode, values, 999))));
}

TEST_P(EachStep, ScansLongAndManyRows) {
  for (const kind mode : kKinds) {
    EXPECT_TRUE(is_scanned(version(), mode, random_words(20'011, 1), 20'011, 256)) << "one row";
    EXPECT_TRUE(is_scanned(version(), mode, random_words(700 * 5, 2), 5, 64)) << "700 rows";
    EXPECT_TRUE(is_scanned(version(), mode, random_words(300, 3), 1, 32)) << "rows of one element";
  }
}

TEST_P(EachStep, HasNothingToScanWithoutValues) {
  for (const kind mode : kKinds)
    for (const std::size_t length : {0, 1, 100})
      EXPECT_TRUE(scan(version(), mode, {}, length).values.empty());
}

TEST_P(EachStep, RefusesWhatIsNoWholeNumberOfRows) {
  const vector values = random_words(10, 1);
  for (const std::size_t length : {0, 3, 4, 11, 20})
    EXPECT_THROW(scan(version(), kind::inclusive, values, length), lab::invalid_input) << length;
  EXPECT_TRUE(is_scanned(version(), kind::inclusive, values, 5, 32))
      << "a later valid call must work";
}

TEST_P(EachStep, RefusesBlocksThatAreNoPowerOfTwoFrom32To1024) {
  const vector values = random_words(10, 1);
  for (const unsigned threads : {0U, 1U, 16U, 33U, 96U, 1000U, 2048U, 0x8000'0000U}) {
    EXPECT_THROW(scan(version(), kind::inclusive, values, 5, threads), lab::invalid_input)
        << threads;
    EXPECT_THROW(scan(version(), kind::inclusive, {}, 5, threads), lab::invalid_input) << threads;
  }
}

TEST_P(EachStep, ForgetsThePreviousCall) {
  const vector many = random_words(3000, 1), few = random_words(6, 2);
  EXPECT_TRUE(is_scanned(version(), kind::exclusive, many, 1500, 128));
  EXPECT_TRUE(is_scanned(version(), kind::exclusive, few, 3, 128));
  EXPECT_TRUE(is_scanned(version(), kind::inclusive, many, 1500, 128));
}

TEST_P(EachStep, SaysHowLongItTook) {
  EXPECT_TRUE(is_time_of(timed::kernel, [&] {
    return scan(version(), kind::inclusive, random_words(10'000, 1), 1000).kernel_ms;
  }));
}

FAULT_TEST_P(EachStep, ReportsEveryCallThatFails) {
  const vector values = random_words(1000, 3);
  expect_failures_reported([&] { return is_scanned(version(), kind::exclusive, values, 500, 64); },
                           values);
}

TEST_P(EachStep, ScansTheProgramsRows) {
  expect_at_full_size([&] {
    const vector values = random_words(kDefaultRows * kDefaultLength, 4);
    const auto are_right = [&] {
      return is_scanned(version(), kind::exclusive, values, kDefaultLength, kDefaultThreads);
    };
    return lab::testing::is_true_without_the_host(are_right,
                                                  {.threads = kDefaultRows * kDefaultThreads,
                                                   .blocks = kDefaultRows,
                                                   .fetched = bytes_of(values)});
  });
}

TEST_P(EachStep, ScansTheRowsOfManyBlocks) {
  expect_at_full_size([&] {
    return is_scanned(version(), kind::inclusive, random_words(2 * lab::testing::kManyBlocks, 5), 2,
                      32);
  });
}

}  // namespace
