// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "device_scan.hpp"

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "fault_tests.hpp"
#include "full_size.hpp"
#include "lab/errors.hpp"
#include "lab/launch_limits.hpp"
#include "lab/random.hpp"
#include "lab/time_kernel.hpp"
#include "lab_testing.hpp"
#include "reference.hpp"
#include "required_work.hpp"
#include "steps.hpp"

namespace {

using lab::random_words;
using lab::device_scan::kind;
using lab::device_scan::reference_scan;
using lab::device_scan::scan;
using lab::device_scan::step;
using lab::testing::as_required;
using lab::testing::bytes_of;
using lab::testing::expect_at_full_size;
using lab::testing::expect_failures_reported;
using lab::testing::is_time_of;
using lab::testing::kManyBlocks;
using lab::testing::matches;
using lab::testing::setting;
using lab::testing::timed;
using lab::testing::work_of;
using vector = std::vector<std::uint32_t>;

// A block that waits for one that cannot start waits forever. The CPU device ends it; its default
// of 30 seconds would be a long time for a student to wait.
const setting kTimeLimit("CPU_DEVICE_TIME_LIMIT", "10", setting::when::unless_given);
// Blocks that run at the same time, on any machine: those that wait look again and again, and how
// often is counted with their loads.
const setting kWorkers("CPU_DEVICE_WORKERS", "2", setting::when::unless_given);

using named_step = lab::testing::named<step>;
constexpr named_step kSteps[] = {{step::three_launches, "three_launches"},
                                 {step::decoupled_look_back, "decoupled_look_back"},
                                 {step::vectorized, "vectorized"}};
constexpr kind kKinds[] = {kind::inclusive, kind::exclusive};
constexpr unsigned kNoTile = 0xFFFF'FFFF;

/// Elements: the contract.
constexpr std::size_t per_thread(step version) { return version == step::vectorized ? 44 : 16; }

::testing::AssertionResult is_scanned(step version, kind mode, const vector& values,
                                      unsigned threads, unsigned late = kNoTile) {
  auto result = lab::compare_exact(scan(version, mode, values, threads, late).values,
                                   reference_scan(mode, values));
  result.message += std::string(mode == kind::inclusive ? " (inclusive" : " (exclusive") + ", " +
                    std::to_string(values.size()) + " values, blocks of " +
                    std::to_string(threads) + ")";
  return matches(result);
}

// --- who does the work ---------------------------------------------------------------------------

/// So many tiles, the last one not full, by blocks of so many threads.
void expect_tiles_that_are_scanned(unsigned threads, unsigned tiles) {
  for (const auto& [version, name] : kSteps)
    for (const kind mode : kKinds) {
      const vector values = random_words(tiles * threads * per_thread(version) - 77, 1);
      const std::size_t bytes = bytes_of(values);
      const std::size_t launches = version == step::three_launches ? 3 : 1;
      // (Among the sectors are those that a block reads when it looks back.)
      const auto done =
          work_of([&, version = version] { return is_scanned(version, mode, values, threads); });
      EXPECT_TRUE(as_required(done, {.threads = tiles * threads,
                                     .blocks = tiles,
                                     .kernels = launches,
                                     .sent = bytes,
                                     .fetched = bytes,
                                     .reads = bytes,
                                     .writes = bytes,
                                     .bytes_a_load = version == step::vectorized ? 16U : 0,
                                     .sectors = version == step::three_launches ? 1.1 : 1.5}))
          << name;
      EXPECT_EQ(done.kernels.size(), launches)
          << name << ": the number of launches is not that of the step";
      if (done.kernels.size() != launches) continue;
      const auto& k = done.kernels[0];
      if (version == step::vectorized) {
        // Five shuffles scan a warp, and ours scans 44 neighbours with them. With them for each
        // element that would be 5 / 32.
        EXPECT_LE(k.warp_functions, values.size() / 8)
            << name << ": the warps shuffle more than one sum for several neighbours";
        // (Only the widest load is checked: how often a block looks back depends on chance.)
        if (done.costs.contains("global store")) {
          EXPECT_LE(done.costs.at("global store").requests, bytes / (16 * 32) * 5 / 4)
              << name << ": more stores of a warp than with 16 bytes per lane";
        }
      }
      if (!done.watched) continue;
      // A tenth of the array's bytes is much more than the tiles have to publish.
      const std::size_t some = bytes / 10;
      if (version == step::three_launches) {
        EXPECT_LE(done.kernels[1].reads + done.kernels[1].writes, some)
            << name << ": the second launch touches more than the sums of the tiles";
      } else {
        // (How often a block polls before there is something to read depends on chance. Each time
        // is an atomic access of at most 8 bytes.)
        EXPECT_LE(k.reads, bytes + 8 * k.atomics + some)
            << name << ": it reads the values more than once";
        EXPECT_LE(k.plain_writes, bytes + some) << name << ": it writes the results more than once";
        const std::uint64_t published = k.writes - k.plain_writes;
        EXPECT_LE(published, std::uint64_t{32} * tiles)
            << name << ": a sum is published more than once, or read by an atomic that also writes";
        // Each tile publishes its word twice, tile 0 only once, and each block draws a number.
        EXPECT_GE(published, 8 * (2 * tiles - 1) + sizeof(unsigned) * tiles)
            << name << ": each block but the first publishes the sum of its tile before it looks"
            << " back, and then that of all tiles up to it";
        // Besides, each block but that of tile 0 looks back at least once.
        EXPECT_GE(k.atomics, std::uint64_t{tiles} + (2 * tiles - 1) + (tiles - 1))
            << name << ": the blocks look back by loads that are not atomic";
        EXPECT_LE(k.atomic_threads, std::uint64_t{33} * tiles)
            << name << ": more than a warp of each block looks back";
      }
    }
}

REQUIRED_WORK(BlocksThatTellEachOtherTheirSums) {
  expect_tiles_that_are_scanned(64, 1);
  expect_tiles_that_are_scanned(64, 3);
  expect_tiles_that_are_scanned(256, 20);
  expect_tiles_that_are_scanned(32, 40);  // a warp looks back at 32 of them at once
}

REQUIRED_WORK(TheSameLaunchesForAFewValues) {
  for (const auto& [version, name] : kSteps)
    for (const std::size_t n : {1, 3, 40, 1000}) {
      const vector values = random_words(n, 1);
      const std::size_t launches = version == step::three_launches ? 3 : 1;
      const auto done = work_of(
          [&, version = version] { return is_scanned(version, kind::inclusive, values, 256); });
      EXPECT_TRUE(
          as_required(done, {.threads = std::min<std::size_t>(256, (n + 43) / 44),
                             .kernels = launches,
                             .sent = bytes_of(values),
                             .fetched = bytes_of(values),
                             .reads = bytes_of(values),
                             .writes = bytes_of(values),
                             .bytes_a_load = version == step::vectorized && n >= 40 ? 16U : 0}))
          << name << ": " << n << " values";
      EXPECT_EQ(done.kernels.size(), launches)
          << name << ": the number of launches is not that of the step, with " << n << " values";
    }
}

REQUIRED_WORK(EachTilePublishesItsSumsEvenZeros) {
  constexpr unsigned kThreads = 64, kTiles = 20;
  for (const auto& [version, name] : kSteps) {
    if (version == step::three_launches) continue;
    // Tiles of zeros after the first one: if they are not published, all later blocks wait.
    vector values(kTiles * kThreads * per_thread(version));
    values[3] = 7;
    const auto work = [&, version = version](std::size_t n) {
      const vector some(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(n));
      return work_of([&] { return is_scanned(version, kind::inclusive, some, kThreads); });
    };
    const auto one = work(5), all = work(values.size());
    EXPECT_TRUE(as_required(all, {.threads = kTiles * kThreads, .blocks = kTiles})) << name;
    if (!all.watched || all.kernels.empty() || one.kernels.empty()) continue;
    const auto published = [](const auto& kernel) { return kernel.writes - kernel.plain_writes; };
    // A single tile publishes one word, and its block draws a number, of 4 bytes or of 8.
    const std::uint64_t least = published(one.kernels[0]);
    ASSERT_GE(least, 8 + sizeof(unsigned)) << name << ": a single tile publishes its prefix, too";
    EXPECT_GE(published(all.kernels[0]), 8 * (2 * kTiles - 1) + (least - 8) * kTiles)
        << name << ": each block publishes a prefix, and each but the first one before that the "
        << "sum of its tile, also if it is 0";
  }
}

// --- every step, every block and length ----------------------------------------------------------

/// A device with less than 176 KiB of shared memory for a block has no room for the largest ones of
/// step vectorized, which the contract lets it refuse.
class Arrays : public lab::testing::each_step_and<named_step, unsigned> {
  void SetUp() override {
    const auto& [version, threads] = GetParam();
    if (version.value == step::vectorized &&
        threads * 176 > lab::device_limit(cudaDevAttrMaxSharedMemoryPerBlockOptin))
      GTEST_SKIP() << "this device has no shared memory for blocks of " << threads << " threads";
  }
};
INSTANTIATE_TEST_SUITE_P(Steps, Arrays,
                         ::testing::Combine(::testing::ValuesIn(kSteps),
                                            ::testing::Values(32, 64, 128, 256, 512, 1024)),
                         lab::testing::by_step_and{"_threads"});

TEST_P(Arrays, OfAnyLengthAreScanned) {
  // Around a warp, the block, a tile, two and three of them; a prime.
  const auto& [version, threads] = GetParam();
  const std::size_t tile = per_thread(version.value) * threads;
  for (const std::size_t n :
       {std::size_t{1}, std::size_t{2}, std::size_t{31}, std::size_t{32}, std::size_t{33},
        std::size_t{255}, std::size_t{257}, std::size_t{threads} - 1, std::size_t{threads},
        std::size_t{threads} + 1, tile - 1, tile, tile + 1, 2 * tile - 1, 2 * tile, 2 * tile + 1,
        3 * tile + 7, std::size_t{10'007}})
    for (const kind mode : kKinds)
      ASSERT_TRUE(is_scanned(version.value, mode, random_words(n, n), threads));
}

TEST_P(Arrays, CountTheirElements) {
  // Of ones: 1, 2, 3, …
  const auto& [version, threads] = GetParam();
  const std::size_t n = 5 * per_thread(version.value) * threads + 3;
  const vector scanned = scan(version.value, kind::inclusive, vector(n, 1), threads).values;
  ASSERT_EQ(scanned.size(), n);
  for (std::size_t i = 0; i < n; ++i) ASSERT_EQ(scanned[i], i + 1) << i;
}

/// Whether each access is watched, which takes ten times as long.
bool is_watched() {
  const vector few(5, 1);
  return work_of([&] { return is_scanned(step::decoupled_look_back, kind::inclusive, few, 32); })
      .watched;
}

TEST_P(Arrays, KnowWhereEachElementBelongs) {
  // A single 1 after which everything is 1, in every tile and at many places of it.
  const auto& [version, threads] = GetParam();
  const std::size_t tile = per_thread(version.value) * threads, n = 2 * tile + threads / 2;
  const std::size_t positions = is_watched() ? 3 : 13;
  for (std::size_t at = 0; at < n; at += tile / positions + 5) {
    vector values(n);
    values[at] = 1;
    for (const kind mode : kKinds)
      ASSERT_TRUE(is_scanned(version.value, mode, values, threads)) << "1 at " << at;
  }
}

// --- every step ----------------------------------------------------------------------------------

using EachStep = lab::testing::each_step<named_step>;
INSTANTIATE_TEST_SUITE_P(Steps, EachStep, ::testing::ValuesIn(kSteps), lab::testing::by_step);

TEST_P(EachStep, TakesBlocksOf256ThreadsUnlessToldOtherwise) {
  const vector values = random_words(2 * 256 * per_thread(version()) + 999, 5);
  for (const kind mode : kKinds)
    EXPECT_TRUE(matches(
        lab::compare_exact(scan(version(), mode, values).values, reference_scan(mode, values))));
}

TEST_P(EachStep, LooksFurtherBackThanOneWarpSees) {
  // 31, 32, 33 and more tiles, of words whose sums go over 2^32.
  for (const std::size_t tiles : {31, 32, 33, 34, 63, 64, 65, 97, 300})
    for (const kind mode : kKinds)
      ASSERT_TRUE(
          is_scanned(version(), mode, random_words(tiles * 32 * per_thread(version()), tiles), 32));
}

TEST_P(EachStep, WaitsForABlockThatComesLate) {
  // Many later blocks have started by then, and have only their own sums: there are more aggregates
  // before the nearest prefix than one warp reads at once.
  const vector values = random_words(80 * 32 * per_thread(version()) - 9, 7);
  EXPECT_TRUE(is_scanned(version(), kind::inclusive, values, 32, 0)) << "tile 0 is late";
  EXPECT_TRUE(is_scanned(version(), kind::exclusive, values, 32, 30)) << "tile 30 is late";
}

TEST(LookBack, WaitsWhenItsLaunchIsRepeated) {
  // Tile 0 is late both times. What the tiles have told each other in the first launch is of other
  // values than those that the second one scans.
  for (const auto& [version, name] : kSteps) {
    if (version == step::three_launches) continue;
    const std::size_t n = 8 * 32 * per_thread(version) - 9;
    const vector first = random_words(n, 8), second = random_words(n, 9);
    const lab::repeated_timing samples(1);
    const lab::testing::detail::other_input later(first, second);
    const vector scanned = scan(version, kind::inclusive, first, 32, 0).values;
    EXPECT_TRUE(matches(lab::compare_exact(
        scanned, reference_scan(kind::inclusive, later.came() ? second : first))))
        << name;
  }
}

TEST(ManyTiles, HaveMoreTotalsThanOneBlockScansAtOnce) {
  // More than a block has threads; one tile of totals, and four, and one total more, when the
  // blocks are the largest.
  const auto are_scanned = [](std::size_t tiles) {
    return is_scanned(step::three_launches, kind::exclusive,
                      random_words(tiles * 32 * per_thread(step::three_launches) - 3, tiles), 32);
  };
  EXPECT_TRUE(are_scanned(1025));
  expect_at_full_size([&] { return are_scanned(16'385); });
  expect_at_full_size([&] { return are_scanned(kManyBlocks); });
}

TEST(ManyTiles, HaveNumbersOfMoreThan16Bits) {
  expect_at_full_size([] {
    const vector values =
        random_words(kManyBlocks * 32 * per_thread(step::decoupled_look_back) - 3, 9);
    return is_scanned(step::decoupled_look_back, kind::inclusive, values, 32);
  });
}

TEST_P(EachStep, HasNothingToScanWithoutValues) {
  for (const kind mode : kKinds) {
    const auto result = scan(version(), mode, {});
    EXPECT_TRUE(result.values.empty());
    EXPECT_EQ(result.kernel_ms, 0.0F);
  }
}

TEST_P(EachStep, RefusesBlocksThatAreNoPowerOfTwoFrom32To1024) {
  const vector values = random_words(10, 1);
  for (const unsigned threads : {0U, 1U, 16U, 33U, 96U, 1000U, 2048U, 0x8000'0000U}) {
    EXPECT_THROW(scan(version(), kind::inclusive, values, threads), lab::invalid_input) << threads;
    EXPECT_THROW(scan(version(), kind::inclusive, {}, threads), lab::invalid_input) << threads;
  }
  EXPECT_TRUE(is_scanned(version(), kind::inclusive, values, 32)) << "a later valid call must work";
}

TEST_P(EachStep, LeavesTheValuesAlone) {
  const vector values = random_words(3000, 4), before = values;
  EXPECT_TRUE(is_scanned(version(), kind::exclusive, values, 64));
  EXPECT_EQ(values, before);
}

TEST_P(EachStep, ForgetsThePreviousCall) {
  const vector many = random_words(30'000, 1), few = random_words(600, 2);
  EXPECT_TRUE(is_scanned(version(), kind::exclusive, many, 128));
  EXPECT_TRUE(is_scanned(version(), kind::exclusive, few, 128));
  EXPECT_TRUE(is_scanned(version(), kind::inclusive, many, 128));
}

TEST_P(EachStep, IsRightWhenItsKernelsAreRepeated) {
  // As a program repeats them to measure their time: with the memory of the previous launch.
  const vector values = random_words(5000, 6);
  const lab::repeated_timing samples(3);
  EXPECT_TRUE(is_scanned(version(), kind::exclusive, values, 64));
}

TEST_P(EachStep, SaysHowLongItTook) {
  EXPECT_TRUE(is_time_of(timed::kernels, [&] {
    return scan(version(), kind::inclusive, random_words(10'000, 1)).kernel_ms;
  }));
}

FAULT_TEST_P(EachStep, ReportsEveryCallThatFails) {
  const vector values = random_words(1000, 3);
  expect_failures_reported([&] { return is_scanned(version(), kind::exclusive, values, 64); },
                           values);
}

}  // namespace
