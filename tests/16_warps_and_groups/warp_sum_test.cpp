// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "warp_sum.hpp"

#include <cuda_runtime.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <tuple>
#include <vector>

#include "fault_tests.hpp"
#include "full_size.hpp"
#include "lab/errors.hpp"
#include "lab/launch_limits.hpp"
#include "lab/random.hpp"
#include "lab_testing.hpp"
#include "reference.hpp"
#include "required_work.hpp"
#include "steps.hpp"

namespace {

using lab::random_words;
using lab::testing::all_need;
using lab::testing::as_required;
using lab::testing::bytes_of;
using lab::testing::expect_at_full_size;
using lab::testing::expect_failures_reported;
using lab::testing::is_time_of;
using lab::testing::matches;
using lab::testing::source;
using lab::testing::timed;
using lab::testing::work_of;
using lab::warp_sum::kDefaultSize;
using lab::warp_sum::kDefaultThreads;
using lab::warp_sum::reference_sum;
using lab::warp_sum::reference_warp_sums;
using lab::warp_sum::step;
using lab::warp_sum::sum;
using lab::warp_sum::warp_sums;
using vector = std::vector<std::uint32_t>;

using named_step = lab::testing::named<step>;
constexpr named_step kSteps[] = {{step::shuffle_down, "shuffle_down"},
                                 {step::butterfly, "butterfly"},
                                 {step::reduce_sync, "reduce_sync"}};

::testing::AssertionResult has_warp_sums(step version, const vector& values, unsigned threads) {
  return matches(lab::compare_exact(warp_sums(version, values, threads),
                                    reference_warp_sums(values, threads)));
}

::testing::AssertionResult has_sum(step version, const vector& values, unsigned threads) {
  const std::uint32_t got = sum(version, values, threads).value, expected = reference_sum(values);
  if (got == expected) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure()
         << "the sum of " << values.size() << " values by blocks of " << threads << " threads: got "
         << got << ", expected " << expected << ": it differs by " << got - expected
         << " modulo 2^32";
}

// --- who does the work ---------------------------------------------------------------------------

/// The smallest number of shuffles with which the warps of a block add up: five levels for 32
/// lanes, two for three or four, none for a single one.
std::uint64_t fewest_shuffles(std::uint64_t threads) {
  const std::uint64_t rest = threads % 32;
  return threads / 32 * 5 + (rest == 0 ? 0 : std::bit_width(rest - 1));
}

REQUIRED_WORK(LanesThatExchangeRegistersAndOneAtomicForEachWarp) {
  const vector values = random_words(20'000, 1);
  for (const auto& [version, name] : kSteps) {
    const auto lanes =
        work_of([&, version = version] { return has_warp_sums(version, values, 100); });
    EXPECT_TRUE(as_required(lanes, {.threads = 20'000,
                                    .blocks = 200,
                                    .sent = bytes_of(values),
                                    .fetched = bytes_of(values),
                                    .reads = bytes_of(values),
                                    .writes = bytes_of(values),
                                    .reads_at_most = bytes_of(values)}))
        << name;
    const auto total = work_of([&, version = version] { return has_sum(version, values, 128); });
    // (With blocks of 100 threads, the last warp of each has four lanes.)
    const auto with_partial_warps =
        work_of([&, version = version] { return has_sum(version, values, 100); });
    const vector few(values.begin(), values.begin() + 90);  // fewer than a block has threads
    const auto of_few = work_of([&, version = version] { return has_sum(version, few, 100); });
    EXPECT_TRUE(as_required(of_few, {.sent = bytes_of(few)})) << name;
    for (const auto* done : {&total, &with_partial_warps})
      EXPECT_TRUE(as_required(*done, {.threads = 1024,
                                      .blocks = 8,
                                      .sent = bytes_of(values),
                                      .reads = bytes_of(values),
                                      .atomics = true}))
          << name;
    for (const auto* done : {&lanes, &total, &with_partial_warps, &of_few})
      for (const auto& k : done->kernels) {
        EXPECT_EQ(k.threads_per_block, done == &total ? 128U : 100U)
            << name << ": the number of threads of a block that was requested";
        EXPECT_EQ(k.shared + k.shared_bytes, 0U) << name << ": it uses shared memory";
        const std::uint64_t warps = k.blocks * ((k.threads_per_block + 31) / 32);
        EXPECT_LE(k.atomics, warps) << name << ": more than one atomic addition per warp";
        // (Who finds the mask by a vote adds nothing up by that, and who waits does not either.)
        const std::uint64_t exchanges = k.warp_functions - k.votes - k.warp_barriers;
        if (version == step::reduce_sync)
          EXPECT_EQ(exchanges, warps) << name << ": one instruction per warp is enough";
        else
          EXPECT_GE(exchanges, k.blocks * fewest_shuffles(k.threads_per_block))
              << name << ": five levels of shuffles in a full warp";
      }
  }
}

REQUIRED_WORK(LanesThatExchangeRegistersHoweverManyValuesThereAre) {
  const std::uint32_t at_once =
      lab::device_limit(cudaDevAttrMultiProcessorCount) *
      (lab::device_limit(cudaDevAttrMaxThreadsPerMultiProcessor) / 100);  // blocks
  for (const auto& [version, name] : kSteps)
    for (const std::uint32_t n : {1U, 3U, 31U, 40U, 129U, 1000U, 4000U, 50'000U}) {
      const vector values = random_words(n, 1);
      const auto lanes =
          work_of([&, version = version] { return has_warp_sums(version, values, 100); });
      const auto total = work_of([&, version = version] { return has_sum(version, values, 100); });
      for (const auto* done : {&lanes, &total}) {
        // (Where all are added up, a thread may have a few of the values.)
        EXPECT_TRUE(as_required(*done, {.threads = done == &total ? (std::min(n, 100U) + 7) / 8 : n,
                                        .blocks = std::clamp(n / 800, 1U, at_once),
                                        .sent = bytes_of(values),
                                        .reads = bytes_of(values),
                                        .atomics = done == &total}))
            << name << ": " << n << " values";
        for (const auto& k : done->kernels) {
          EXPECT_EQ(k.shared + k.shared_bytes, 0U) << name << ": it uses shared memory";
          const std::uint64_t warps = k.blocks * ((k.threads_per_block + 31) / 32);
          EXPECT_LE(k.atomics, warps) << name << ": more than one atomic addition per warp";
          if (n == 1) continue;
          const std::uint64_t exchanges = k.warp_functions - k.votes - k.warp_barriers;
          EXPECT_GE(exchanges,
                    version == step::reduce_sync ? 1 : fewest_shuffles(std::min(n, 100U)))
              << name << ": the lanes exchange nothing, where there are " << n << " values";
        }
      }
    }
}

REQUIRED_WORK(ATreeOfShufflesAndOneThatPassesTheSumOn) {
  const vector values = random_words(20'000, 2);
  // Full warps: a butterfly has five shuffles, after which there is nothing to pass on.
  const auto done = work_of([&] { return has_warp_sums(step::shuffle_down, values, 128); });
  ASSERT_TRUE(as_required(done, {.threads = 20'000})) << "shuffle_down";
  for (const auto& k : done.kernels)
    EXPECT_GE(k.warp_functions, k.blocks * (k.threads_per_block / 32) * (5 + 1))
        << "shuffle_down: five levels of __shfl_down_sync, and one __shfl_sync";
}

REQUIRED_WORK(SumsThatNeedWhatOtherLanesHave) {
  const vector values = random_words(20'000, 3);
  const vector expected = reference_warp_sums(values, 100);  // of 32 lanes, and of 4
  for (const auto& [version, name] : kSteps) {
    EXPECT_TRUE(all_need(source::other_lanes, [&, version = version] {
      const vector sums = warp_sums(version, values, 100);
      std::size_t right = 0;
      for (std::size_t i = 0; i < sums.size(); ++i) right += sums[i] == expected[i] ? 1 : 0;
      return right;
    })) << name;
    EXPECT_TRUE(all_need(source::other_lanes, [&, version = version] {
      return sum(version, values, 100).value == reference_sum(values) ? 1U : 0U;
    })) << name;
  }
}

// --- every step, every block size ----------------------------------------------------------------

// Around one, two and three warps, up to the largest block; a prime, and sizes whose last warp has
// every kind of lanes: one, a power of two, one more or less, 31.
using Lanes = lab::testing::each_step_and<named_step, unsigned>;
INSTANTIATE_TEST_SUITE_P(Steps, Lanes,
                         ::testing::Combine(::testing::ValuesIn(kSteps),
                                            ::testing::Values(1, 2, 3, 5, 7, 16, 17, 19, 31, 32, 33,
                                                              40, 63, 64, 65, 96, 100, 255, 256,
                                                              1000, 1021, 1023, 1024)),
                         lab::testing::by_step_and{"_threads"});

TEST_P(Lanes, AllHaveTheSumOfTheirWarp) {
  const auto& [version, threads] = GetParam();
  for (const std::size_t n : {1, 2, 31, 32, 33, 64, 97, 1023, 1024, 1025, 3001})
    ASSERT_TRUE(has_warp_sums(version.value, random_words(n, n + threads), threads))
        << n << " values";
}

TEST_P(Lanes, CountEachLaneOfTheirWarpOnce) {
  // Lane i of each warp brings bit i: a sum shows which lanes are in it, and which are in it twice.
  const auto& [version, threads] = GetParam();
  vector values(2 * threads + 45);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = 1U << (i % threads % 32);
  const vector sums = warp_sums(version.value, values, threads);
  const vector expected = reference_warp_sums(values, threads);
  ASSERT_EQ(sums.size(), expected.size());
  for (std::size_t i = 0; i < sums.size(); ++i)
    ASSERT_EQ(sums[i], expected[i])
        << "thread " << i % threads << " of block " << i / threads << ": it should have counted the"
        << " lanes " << std::hex << expected[i] << " and has counted " << sums[i]
        << " (a bit is a lane)";
}

TEST_P(Lanes, AddUpToTheSumOfAll) {
  const auto& [version, threads] = GetParam();
  for (const std::size_t n : {1, 3, 4, 5, 31, 32, 33, 1021, 4096, 20'003})
    ASSERT_TRUE(has_sum(version.value, random_words(n, n + threads), threads));
}

// --- every step ----------------------------------------------------------------------------------

using EachStep = lab::testing::each_step<named_step>;
INSTANTIATE_TEST_SUITE_P(Steps, EachStep, ::testing::ValuesIn(kSteps), lab::testing::by_step);

TEST_P(EachStep, TakesBlocksOf256ThreadsUnlessToldOtherwise) {
  const vector values = random_words(12'345, 7);
  EXPECT_EQ(sum(version(), values).value, reference_sum(values));
}

TEST_P(EachStep, AddsUpHoweverManyLanesTheLastWarpHas) {
  for (unsigned threads = 1; threads <= 64; ++threads) {
    const vector values = random_words(2 * threads + 5, threads);
    ASSERT_TRUE(has_warp_sums(version(), values, threads)) << "blocks of " << threads << " threads";
    ASSERT_TRUE(has_sum(version(), values, threads));
  }
}

TEST_P(EachStep, AddsMoreThanTheDeviceRunsAtOnce) {
  // Around one round of the largest grid that the device runs at once, and several: four values a
  // load, four loads under way.
  const std::size_t resident = std::size_t{lab::device_limit(cudaDevAttrMultiProcessorCount)} *
                               lab::device_limit(cudaDevAttrMaxThreadsPerMultiProcessor);
  for (const std::size_t n : {resident - 1, resident, resident + 1, 4 * resident + 3, 16 * resident,
                              16 * resident + 1, 37 * resident + 5})
    EXPECT_TRUE(has_sum(version(), random_words(n, n), 256));
}

TEST_P(EachStep, AddsWhatCancelsModulo2To32) {
  EXPECT_EQ(sum(version(), vector{0xFFFF'FFFF, 1}).value, 0U);
  EXPECT_EQ(sum(version(), vector(1 << 16, 1U << 16)).value, 0U);
  EXPECT_EQ(sum(version(), vector(100, 0xFFFF'FFFF)).value, 0U - 100U);
}

TEST_P(EachStep, HasNothingToAddWithoutValues) {
  EXPECT_TRUE(warp_sums(version(), {}, 256).empty());
  EXPECT_EQ(sum(version(), {}).value, 0U);
  EXPECT_EQ(sum(version(), {}, 33).value, 0U);
}

TEST_P(EachStep, RefusesBlocksThatTheDeviceDoesNotAllow) {
  const vector few = random_words(10, 1);
  const unsigned most = lab::device_limit(cudaDevAttrMaxThreadsPerBlock);
  for (const unsigned threads : {0U, most + 1, most + 32, 0xFFFF'FFFF}) {
    EXPECT_THROW(warp_sums(version(), few, threads), lab::invalid_input) << threads;
    EXPECT_THROW(sum(version(), few, threads), lab::invalid_input) << threads;
    EXPECT_THROW(sum(version(), {}, threads), lab::invalid_input) << threads;
  }
  EXPECT_TRUE(has_sum(version(), few, most)) << "a later valid call must work";
}

TEST_P(EachStep, ForgetsThePreviousCall) {
  const vector many = random_words(5000, 1), few = random_words(3, 2);
  EXPECT_TRUE(has_sum(version(), many, 96));
  EXPECT_TRUE(has_sum(version(), few, 96));
  EXPECT_TRUE(has_sum(version(), many, 96));
  EXPECT_TRUE(has_warp_sums(version(), many, 96));
  EXPECT_TRUE(has_warp_sums(version(), few, 96));
}

TEST_P(EachStep, SaysHowLongItTook) {
  EXPECT_TRUE(
      is_time_of(timed::kernel, [&] { return sum(version(), random_words(10'000, 1)).kernel_ms; }));
}

FAULT_TEST_P(EachStep, ReportsEveryCallThatFails) {
  const vector values = random_words(1000, 3);
  expect_failures_reported([&] { return has_warp_sums(version(), values, 72); }, values);
  expect_failures_reported([&] { return has_sum(version(), values, 72); }, values);
}

TEST_P(EachStep, AddsEveryValueOnceAtTheProgramsSize) {
  expect_at_full_size(
      [&] { return has_sum(version(), random_words(kDefaultSize, 4), kDefaultThreads); });
}

TEST_P(EachStep, GivesTheSumsOfTheWarpsOfManyBlocks) {
  expect_at_full_size([&] {
    return has_warp_sums(version(), random_words(32 * lab::testing::kManyBlocks + 5, 5), 32);
  });
}

}  // namespace
