// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "histogram.hpp"

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string>
#include <tuple>
#include <vector>

#include "data.hpp"
#include "fault_tests.hpp"
#include "full_size.hpp"
#include "lab/errors.hpp"
#include "lab/launch_limits.hpp"
#include "lab/time_kernel.hpp"
#include "lab_testing.hpp"
#include "pretended_devices.hpp"
#include "reference.hpp"
#include "required_work.hpp"
#include "steps.hpp"

namespace {

using lab::device_limit;
using lab::histogram::check;
using lab::histogram::count;
using lab::histogram::data;
using lab::histogram::kBins;
using lab::histogram::kDefaultSize;
using lab::histogram::make_bytes;
using lab::histogram::step;
using lab::testing::at_other_sizes;
using lab::testing::expect_at_full_size;
using lab::testing::expect_failures_reported;
using lab::testing::is_time_of;
using lab::testing::matches;
using lab::testing::timed;
using lab::testing::work_of;

using named_step = lab::testing::named<step>;

constexpr named_step kSteps[] = {{step::cpu, "cpu"},
                                 {step::global_atomics, "global_atomics"},
                                 {step::shared_atomics, "shared_atomics"},
                                 {step::lane_copies, "lane_copies"}};

struct named_data {
  data value;
  const char* name;
};

constexpr named_data kData[] = {
    {data::random, "random"}, {data::skewed, "skewed"}, {data::constant, "constant"}};

void expect_right_counts(step version, const std::vector<std::uint8_t>& bytes,
                         unsigned threads = 0) {
  EXPECT_TRUE(matches(check(count(version, bytes, threads).count, bytes)));
}

// --- who does the work ---------------------------------------------------------------------------

REQUIRED_WORK(CountersOfTheKindThatEachStepIsNamedFor) {
  // All bytes are equal: with one counter for all lanes of a warp, the lanes wait for each other.
  const auto bytes = make_bytes(data::constant, 64 * 1024 + 7, 1);
  for (const auto& [version, name] : kSteps) {
    const lab::testing::work done = work_of(
        [&, version = version] { return matches(check(count(version, bytes).count, bytes)); });
    if (version == step::cpu) {
      EXPECT_TRUE(as_required(done, {.kernels = 0})) << name;
      EXPECT_TRUE(done.kernels.empty()) << name << ": this step is a loop on the host";
      continue;
    }
    EXPECT_TRUE(as_required(done, {.threads = 512,
                                   .blocks = 2,
                                   .sent = bytes.size(),
                                   .fetched = lab::histogram::kBins * 4,
                                   .reads = bytes.size(),
                                   .shared_memory = version != step::global_atomics,
                                   .atomics = true,
                                   .shared_atomics = version != step::global_atomics}))
        << name;
    EXPECT_TRUE(at_other_sizes(
        [version = version](std::size_t n) {
          const auto some = make_bytes(data::random, n, 1);
          return matches(check(count(version, some).count, some));
        },
        {.threads = 1,
         .fetched = 1,
         .writes = 1,
         .atomics = true,
         .shared_atomics = version != step::global_atomics}))
        << name;
    if (version != step::lane_copies || !done.costs.contains("shared atomic")) continue;
    const auto& atomics = done.costs.at("shared atomic");
    EXPECT_LE(atomics.turns, atomics.requests * 11 / 10)
        << name << ": lanes of a warp share a counter";
    EXPECT_LE(done.costs.at("global load").requests, bytes.size() / (16 * 32) * 5 / 4)
        << name << ": a lane loads less than 16 bytes at a time";
  }
}

REQUIRED_WORK(BlocksOfTheSizeThatWasAskedFor) {
  const auto bytes = make_bytes(data::random, 20'011, 3);
  for (const auto& [version, name] : kSteps) {
    if (version == step::cpu) continue;
    for (const unsigned threads : {1U, 33U, 100U, 257U}) {
      const auto done = work_of([&, version = version] {
        return matches(check(count(version, bytes, threads).count, bytes));
      });
      EXPECT_TRUE(as_required(done, {.threads = threads})) << name;
      EXPECT_TRUE(std::ranges::any_of(
          done.kernels, [&](const auto& k) { return k.threads_per_block == threads; }))
          << name << ": no block has " << threads << " threads, as the caller asked";
    }
  }
}

// --- every step, every size ----------------------------------------------------------------------

class Histogram : public ::testing::TestWithParam<std::tuple<named_step, named_data, std::size_t>> {
};

TEST_P(Histogram, IsExact) {
  const auto& [version, kind, n] = GetParam();
  expect_right_counts(version.value, make_bytes(kind.value, n, n + 1));
}

// Around a load of 16 bytes, a warp, the book's block, the 512 * 16 bytes of one load of a block of
// lane_copies, and four of them: one less, that, and one more; a prime; sizes that no power of two
// divides.
INSTANTIATE_TEST_SUITE_P(Steps, Histogram,
                         ::testing::Combine(::testing::ValuesIn(kSteps), ::testing::ValuesIn(kData),
                                            ::testing::Values(0, 1, 2, 3, 4, 5, 15, 16, 17, 31, 33,
                                                              255, 256, 257, 1021, 8191, 8192, 8193,
                                                              8192 + 15, 32'767, 32'768, 32'769,
                                                              50'021, 98'303)),
                         [](const auto& info) {
                           return std::string(std::get<0>(info.param).name) + "_" +
                                  std::get<1>(info.param).name + "_n" +
                                  std::to_string(std::get<2>(info.param));
                         });

using EachStep = lab::testing::each_step<named_step>;
INSTANTIATE_TEST_SUITE_P(Steps, EachStep, ::testing::ValuesIn(kSteps), lab::testing::by_step);

TEST(SharedAtomics, CountMoreEqualBytesInABlockThanSixteenBits) {
  const std::size_t blocks = 2 * std::size_t{device_limit(cudaDevAttrMultiProcessorCount)};
  expect_right_counts(step::shared_atomics, make_bytes(data::constant, blocks * 65'600, 1));
}

TEST(LaneCopies, CountMoreEqualBytesInALaneThanSixteenBits) {
  // In a block of one thread, one lane counts them all. No more blocks than these run at once.
#ifdef __CPU_DEVICE__
  const lab::testing::pretended_devices small([](cudaDeviceProp& p) { p.multiProcessorCount = 1; });
#endif
  const std::size_t blocks = std::size_t{device_limit(cudaDevAttrMultiProcessorCount)} *
                             device_limit(cudaDevAttrMaxBlocksPerMultiprocessor);
  expect_right_counts(step::lane_copies, make_bytes(data::constant, blocks * 65'600, 1), 1);
}

TEST_P(EachStep, CountsNothingWithoutBytes) {
  EXPECT_EQ(count(version(), {}).count, std::vector<std::uint64_t>(kBins, 0));
}

TEST_P(EachStep, CountsEveryValueOnce) {
  std::vector<std::uint8_t> bytes(kBins);
  std::iota(bytes.begin(), bytes.end(), std::uint8_t{0});
  EXPECT_EQ(count(version(), bytes).count, std::vector<std::uint64_t>(kBins, 1));
}

TEST_P(EachStep, CountsTheLargestByteToo) {
  const std::vector<std::uint8_t> bytes(100, 255);
  const auto counted = count(version(), bytes).count;
  ASSERT_EQ(counted.size(), kBins);
  EXPECT_EQ(counted[255], 100U);
  EXPECT_EQ(counted[0], 0U);
}

TEST_P(EachStep, CountsRunsOfEqualBytes) {
  // Of 1, 2, 3, … equal bytes, so that they begin and end everywhere in a word and a load.
  std::vector<std::uint8_t> bytes;
  for (unsigned length = 1; length <= 70; ++length)
    bytes.insert(bytes.end(), length, static_cast<std::uint8_t>(3 * length));
  expect_right_counts(version(), bytes);
}

TEST_P(EachStep, TellsTheBytesOfAWordApart) {
  // Four values that occur only at one place of a word each, and not equally often.
  std::vector<std::uint8_t> bytes;
  for (unsigned i = 0; i < 1000; ++i) {
    const std::uint8_t four[] = {static_cast<std::uint8_t>(i % 2), 17, 128, 254};
    bytes.insert(bytes.end(), four, four + 4);
  }
  bytes.pop_back();
  expect_right_counts(version(), bytes);
}

TEST_P(EachStep, CountsMoreBytesThanAGridHasThreads) {
  const std::size_t threads = std::size_t{device_limit(cudaDevAttrMultiProcessorCount)} *
                              device_limit(cudaDevAttrMaxThreadsPerMultiProcessor);
  // Of 16 bytes: four that a thread has in flight at once, and its fifth and sixth one by one.
  const std::size_t loads = 5 * threads + 3;
  expect_right_counts(version(), make_bytes(data::random, 16 * loads + 7, 11));
}

using EachSeed = lab::testing::each_step_and<named_step>;
INSTANTIATE_TEST_SUITE_P(Steps, EachSeed,
                         ::testing::Combine(::testing::ValuesIn(kSteps),
                                            ::testing::Values(1, 2, 3)),
                         lab::testing::by_step_and{"_seed"});

TEST_P(EachSeed, CountsSkewedBytes) {
  const auto& [version, seed] = GetParam();
  expect_right_counts(version.value, make_bytes(data::skewed, 10'007, 100 * seed));
}

// --- blocks of every size ------------------------------------------------------------------------

class BlockSize : public ::testing::TestWithParam<std::tuple<named_step, unsigned>> {};

TEST_P(BlockSize, ChangesNothing) {
  const auto& [version, threads] = GetParam();
  expect_right_counts(version.value, make_bytes(data::random, 20'011, 5), threads);
}

// Fewer threads than a warp, than bins; more than bins; not a multiple of a warp.
INSTANTIATE_TEST_SUITE_P(Steps, BlockSize,
                         ::testing::Combine(::testing::ValuesIn(kSteps),
                                            ::testing::Values(1, 2, 31, 32, 33, 100, 255, 256, 257,
                                                              384, 512, 1000, 1024)),
                         lab::testing::by_step_and{"_threads"});

TEST_P(EachStep, CountsMoreBytesThanAGridOfSmallBlocksHasThreads) {
  // What is left after all loads of 16 bytes may be more than the threads can count in one go.
  for (const unsigned threads : {1U, 2U, 5U})
    for (const std::size_t n : {7U, 15U, 31U, 47U, 77U})
      expect_right_counts(version(), make_bytes(data::random, n, n), threads);
}

TEST_P(EachStep, RefusesABlockLargerThanTheDevicesAndNamesTheLimit) {
  if (version() == step::cpu) return;  // has no blocks
  const unsigned limit = device_limit(cudaDevAttrMaxThreadsPerBlock);
  const std::vector<std::uint8_t> bytes(100, 1);
  EXPECT_NO_THROW(count(version(), bytes, limit));
  try {
    count(version(), bytes, limit + 1);
    FAIL() << "a block of " << limit + 1 << " threads was not refused";
  } catch (const lab::invalid_input& error) {
    EXPECT_NE(std::string(error.what()).find(std::to_string(limit)), std::string::npos)
        << error.what();
  }
  EXPECT_THROW(count(version(), {}, limit + 1), lab::invalid_input);
  expect_right_counts(version(), bytes);  // and it works again
}

// --- more than once ------------------------------------------------------------------------------

TEST_P(EachStep, BeginsAtZeroWhereItsKernelIsRepeated) {
  // As a program repeats it to measure its time: device memory has the last launch's results.
  const lab::repeated_timing samples(1);
  expect_right_counts(version(), make_bytes(data::random, 5003, 1), 256);
}

TEST_P(EachStep, LeavesItsInputAlone) {
  const auto bytes = make_bytes(data::random, 3001, 7);
  auto given = bytes;
  count(version(), given);
  EXPECT_EQ(given, bytes);
}

TEST_P(EachStep, BeginsAtZeroEveryTime) {
  // Counts left in memory that is allocated again would add up.
  expect_right_counts(version(), make_bytes(data::random, 5003, 1));
  expect_right_counts(version(), make_bytes(data::random, 5003, 2));
}

// --- time ----------------------------------------------------------------------------------------

TEST_P(EachStep, SaysHowLongItTook) {
  const std::vector<std::uint8_t> bytes(10'000, 9);
  EXPECT_TRUE(is_time_of(timed::kernels, [&] { return count(version(), bytes).kernel_ms; }));
}

// --- the data ------------------------------------------------------------------------------------

TEST(Data, IsAsUnevenAsItSays) {
  constexpr std::size_t kBytes = 100'000;
  const auto counts_of = [](data kind) {
    return lab::histogram::reference(make_bytes(kind, kBytes, 3));
  };
  for (const std::uint64_t one : counts_of(data::random)) {
    EXPECT_GT(one, kBytes / kBins / 2);
    EXPECT_LT(one, kBytes / kBins * 2);
  }
  EXPECT_NEAR(static_cast<double>(counts_of(data::skewed)[0]) / kBytes, 0.3436, 0.01);  // (7/8)^8
  std::size_t used = 0;
  for (const std::uint64_t one : counts_of(data::constant)) used += one != 0 ? 1 : 0;
  EXPECT_EQ(used, 1U);
}

FAULT_TEST_P(EachStep, ReportsEveryCallThatFails) {
  if (version() == step::cpu) return;  // which makes no calls
  const auto bytes = make_bytes(data::random, 1000, 1);
  expect_failures_reported([&] { return count(version(), bytes).count; }, bytes);
}

TEST_P(EachStep, CountsTheProgramsBytes) {
  expect_at_full_size([&] {
    const auto bytes = make_bytes(data::random, kDefaultSize, 1);
    return matches(check(count(version(), bytes).count, bytes));
  });
}

}  // namespace
