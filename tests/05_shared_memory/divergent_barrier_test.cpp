// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "divergent_barrier.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "fault_tests.hpp"
#include "full_size.hpp"
#include "lab/cuda_check.hpp"
#include "lab/device_limits.hpp"
#include "lab/errors.hpp"
#include "lab/random.hpp"
#include "lab_testing.hpp"
#include "reference.hpp"
#include "required_work.hpp"
#include "steps.hpp"

namespace {

using lab::divergent_barrier::kBlock;
using lab::divergent_barrier::kRows;
using lab::divergent_barrier::mean_bound;
using lab::divergent_barrier::minus_column_means;
using lab::divergent_barrier::reference_means;
using lab::divergent_barrier::reference_sums;
using lab::divergent_barrier::sum_bound;
using lab::divergent_barrier::sums_of_blocks;
using lab::testing::at_other_sizes;
using lab::testing::bytes_of;
using lab::testing::expect_failures_reported;
using lab::testing::is_time_of;
using lab::testing::matches;
using lab::testing::repeated;
using lab::testing::timed;
using lab::testing::whole_numbers;
using lab::testing::work_of;
using vector = std::vector<float>;

constexpr std::size_t kMostBlocks = 0x7FFF'FFFF;  // of a grid

/// Claims to be n floats, for sizes that no memory holds. Reading more than the first one fails.
std::span<const float> pretended(std::size_t n) {
  static constexpr float kOne = 1;
  return {&kOne, n};
}

constexpr const char* kTooEarly =
    "\nA sum that is not complete was read: some threads went on while others were still adding. "
    "Is there a barrier at which all of them wait?";

// --- who does the work ---------------------------------------------------------------------------

REQUIRED_WORK(BlocksThatWorkInSharedMemory) {
  const auto are_sums = [](const vector& values) {
    return matches(lab::compare(sums_of_blocks(values).values, reference_sums(values), {}));
  };
  const auto is_without_means = [](const vector& table) {
    return matches(lab::compare(minus_column_means(table).values, reference_means(table), {}));
  };
  constexpr const char* kOneKernel = ": the threads wait at barriers, and not for another kernel";
  const vector values = whole_numbers(10 * kBlock + 1, 1, -9, 14);
  // Within a warp, shuffles are as good; the sums of the warps meet in shared memory.
  constexpr std::uint64_t kOtherWarps = kBlock / 64 - 1;
  EXPECT_TRUE(as_required(work_of([&] { return are_sums(values); }), {.threads = 10 * kBlock / 2,
                                                                      .blocks = 11,
                                                                      .sent = bytes_of(values),
                                                                      .fetched = 11 * sizeof(float),
                                                                      .reads = bytes_of(values),
                                                                      .exchanges = 11 * kOtherWarps,
                                                                      .sectors = 1.1}));
  // A block that is not full is no reason to leave its work to one thread.
  for (const std::size_t n : {std::size_t{7}, std::size_t{31}, std::size_t{40}, std::size_t{100},
                              kBlock - 1, kBlock + 1, 20 * kBlock}) {
    const vector fewer = whole_numbers(n, 3, 1, 14);
    const lab::testing::work done = work_of([&] { return are_sums(fewer); });
    EXPECT_TRUE(as_required(done, {.threads = (n + 1) / 2,
                                   .blocks = (n + kBlock - 1) / kBlock,
                                   .sent = bytes_of(fewer),
                                   .fetched = (n + kBlock - 1) / kBlock * sizeof(float),
                                   .reads = bytes_of(fewer),
                                   .shared_memory = true,
                                   .exchanges = std::min(n - 1, kBlock - 1) / 64}))
        << n << " values";
    EXPECT_LE(done.kernels.size(), 1U) << n << " values" << kOneKernel;
    if (n < 100 || n > kBlock) continue;
    for (const auto& k : done.kernels)
      EXPECT_LE(k.shared_of_busiest, n / 2)
          << n << " values: one thread of a block adds up what all of them should";
  }
  for (const std::size_t columns : {7, 31, 40, 320, 1021}) {
    const vector table = whole_numbers(kRows * columns, 2, 1, 14);
    const lab::testing::work done = work_of([&] { return is_without_means(table); });
    EXPECT_LE(done.kernels.size(), 1U) << columns << " columns" << kOneKernel;
    EXPECT_TRUE(as_required(
        done, {.threads = columns,
               .blocks = columns > 128 ? 2U : 1U,
               .sent = bytes_of(table),
               .fetched = bytes_of(table),
               .reads = bytes_of(table),
               .writes = bytes_of(table),
               .shared_memory = true,
               .sectors = columns % 8 == 0 ? 1.1 : 0}))  // else rows begin within a sector
        << columns << " columns";
  }
  EXPECT_TRUE(at_other_sizes([&](std::size_t n) { return are_sums(whole_numbers(n, 1, 1, 9)); }));
  EXPECT_TRUE(at_other_sizes(
      [&](std::size_t n) { return is_without_means(whole_numbers(kRows * n, 1, 1, 9)); }));
}

// --- sums ----------------------------------------------------------------------------------------

class Sums : public ::testing::TestWithParam<std::size_t> {};
// Around a warp (32), a block (256) and some blocks; a prime.
INSTANTIATE_TEST_SUITE_P(Sizes, Sums,
                         ::testing::Values(1, 31, 32, 33, 127, 128, 129, 255, 256, 257, 511, 512,
                                           513, 1021, 10 * 256 + 1, 33 * 1024 + 7),
                         [](const auto& test) { return "n" + std::to_string(test.param); });

TEST_P(Sums, AreExactForWholeNumbers) {
  const vector values = whole_numbers(GetParam(), GetParam() + 1, -999, 1234);
  EXPECT_TRUE(matches(lab::compare(sums_of_blocks(values).values, reference_sums(values), {})));
}

TEST_P(Sums, AreWithinTheBoundForRandomNumbers) {
  const vector values = lab::random_floats(GetParam(), GetParam() + 2, -100, 300);
  EXPECT_TRUE(matches(lab::compare(sums_of_blocks(values).values, reference_sums(values),
                                   {.absolute = sum_bound(values)})));
}

TEST(SumsOfBlocks, AreWithinTheBoundWhereAllRoundingsGoOneWay) {
  // From 128 on, a sum of whole numbers of these is rounded down with each one that is added, by
  // nearly 2^-17: in 128 additions one after the other that is more than in the levels of a tree.
  const vector values(2 * kBlock, 1 + 63 * 0x1p-23F);
  EXPECT_TRUE(matches(lab::compare(sums_of_blocks(values).values, reference_sums(values),
                                   {.absolute = sum_bound(values)})));
}

TEST(SumsOfBlocks, MeetAtOneBarrier) {
  if (!lab::on_cpu_device())
    GTEST_SKIP() << "a GPU may give the right sums although threads skip a barrier; "
                    "compute-sanitizer --tool synccheck sees it, and so does the CPU device";
  // The CPU device reports a barrier that some threads skip, and the report fails the test.
  EXPECT_EQ(sums_of_blocks(vector(256, 1.0F)).values, vector{256.0F});
}

TEST(SumsOfBlocks, AreNoneForNoValues) { EXPECT_TRUE(sums_of_blocks({}).values.empty()); }

TEST(SumsOfBlocks, CountEachPlaceOnce) {
  for (const std::size_t position : {0U, 1U, 31U, 32U, 127U, 128U, 255U, 256U, 511U, 512U, 515U}) {
    vector values(516);
    values[position] = static_cast<float>(position) + 7;
    EXPECT_TRUE(matches(lab::compare(sums_of_blocks(values).values, reference_sums(values), {})))
        << "the only value is at " << position;
  }
}

TEST(SumsOfBlocks, ForgetThePreviousCall) {
  EXPECT_EQ(sums_of_blocks(vector(512, 3.0F)).values, (vector{768, 768}));
  EXPECT_EQ(sums_of_blocks(vector(258, 2.0F)).values, (vector{512, 4}));
}

TEST(SumsOfBlocks, AreRefusedForMoreBlocksThanAGridHas) {
  constexpr std::size_t kMost = kMostBlocks * kBlock;
  EXPECT_THROW(sums_of_blocks(pretended(kMost + 1)), lab::invalid_input);
  EXPECT_TRUE(lab::testing::runs_out_of_memory([] { sums_of_blocks(pretended(kMost)); }))
      << "2 TiB";
}

// --- means ---------------------------------------------------------------------------------------

class Means : public ::testing::TestWithParam<std::size_t> {};
// Around the 32 columns of a block, and some blocks; a prime.
INSTANTIATE_TEST_SUITE_P(Columns, Means,
                         ::testing::Values(1, 2, 31, 32, 33, 63, 64, 65, 127, 128, 129, 1021,
                                           10 * 32 + 1),
                         [](const auto& test) { return "n" + std::to_string(test.param); });

TEST_P(Means, AreExactForWholeNumbers) {
  const vector table = whole_numbers(kRows * GetParam(), GetParam() + 3, -500, 900);
  EXPECT_TRUE(matches(lab::compare(minus_column_means(table).values, reference_means(table), {})))
      << kTooEarly;
}

TEST_P(Means, AreComplete) {
  // All positive: no part of a sum is as large as the whole one.
  const vector table = whole_numbers(kRows * GetParam(), GetParam() + 4, 1, 77);
  EXPECT_TRUE(matches(lab::compare(minus_column_means(table).values, reference_means(table), {})))
      << kTooEarly;
}

TEST_P(Means, AreWithinTheBoundForRandomNumbers) {
  const vector table = lab::random_floats(kRows * GetParam(), GetParam() + 5, -100, 300);
  EXPECT_TRUE(matches(lab::compare(minus_column_means(table).values, reference_means(table),
                                   {.absolute = mean_bound(table)})))
      << kTooEarly;
}

TEST(MinusColumnMeans, KeepsAnEmptyTable) { EXPECT_TRUE(minus_column_means({}).values.empty()); }

TEST(MinusColumnMeans, RefusesRowsOfDifferentLengths) {
  EXPECT_THROW(minus_column_means(vector(1)), lab::invalid_input);
  EXPECT_THROW(minus_column_means(vector(kRows - 1)), lab::invalid_input);
  EXPECT_THROW(minus_column_means(vector(5 * kRows + 1)), lab::invalid_input);
}

TEST(MinusColumnMeans, RefusesMoreBlocksThanAGridHas) {
  // The starter's blocks have 32 columns; others are as good. The table is never read: only its
  // size matters. Neither the device nor the host has so much memory.
  EXPECT_TRUE(lab::testing::refuses_what_needs_too_many_blocks(
      8, [](std::size_t columns) { minus_column_means(pretended(columns * kRows)); }));
}

TEST(MinusColumnMeans, TakesEachRowIntoAccount) {
  constexpr std::size_t kColumns = 37;
  for (std::size_t row = 0; row < kRows; ++row) {
    vector table(kRows * kColumns);
    for (std::size_t column = 0; column < kColumns; ++column)
      table[row * kColumns + column] = 8.0F * static_cast<float>(column + 1);
    EXPECT_TRUE(matches(lab::compare(minus_column_means(table).values, reference_means(table), {})))
        << "all rows are 0 but row " << row << kTooEarly;
  }
}

TEST(MinusColumnMeans, TakesNumbersOfWhichEightAreTooLargeOrAnEighthTooSmall) {
  // The mean is 2^124, and nothing is rounded; but 8 * 2^127 is infinite. And the mean of eight
  // times 2^-149 is 2^-149; but an eighth of that is 0.
  constexpr std::size_t kColumns = 33;
  vector table(kRows * kColumns);
  table[3 * kColumns + 5] = 0x1p127F;
  table[6 * kColumns + 32] = -0x1p127F;
  for (std::size_t row = 0; row < kRows; ++row) table[row * kColumns + 31] = 0x1p-149F;
  EXPECT_TRUE(matches(lab::compare(minus_column_means(table).values, reference_means(table), {})));
}

TEST(MinusColumnMeans, ForgetsThePreviousCall) {
  EXPECT_EQ(minus_column_means(vector(kRows * 40, 3.0F)).values, vector(kRows * 40));
  vector table(kRows * 40);
  table[0] = 8;
  EXPECT_TRUE(matches(lab::compare(minus_column_means(table).values, reference_means(table), {})));
}

TEST(BothKernels, WorkInThousandsOfBlocks) {
  lab::testing::expect_at_full_size([] {
    // (65,537 blocks with barriers would take the CPU device long.)
    constexpr std::size_t kSums = 4099 * kBlock;
    const vector values = repeated(whole_numbers(10'007, 1, 1, 99), kSums);
    EXPECT_TRUE(matches(lab::compare(sums_of_blocks(values).values, reference_sums(values), {})));
    EXPECT_TRUE(
        matches(lab::compare(minus_column_means(values).values, reference_means(values), {})));
  });
}

TEST(BothKernels, SayHowLongTheyTook) {
  const vector ones(kRows * 100, 1.0F);
  EXPECT_TRUE(is_time_of(timed::kernel, [&] { return sums_of_blocks(ones).kernel_ms; }));
  EXPECT_TRUE(is_time_of(timed::kernel, [&] { return minus_column_means(ones).kernel_ms; }));
}

FAULT_TEST(BothKernels, ReportEveryCallThatFails) {
  const vector values = whole_numbers(3 * kBlock, 1, -9, 9);
  expect_failures_reported([&] { return sums_of_blocks(values).values; }, values);
  expect_failures_reported([&] { return minus_column_means(values).values; }, values);
}

}  // namespace
