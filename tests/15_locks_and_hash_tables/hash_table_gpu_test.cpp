// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "hash_table_gpu.hpp"

#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "fault_tests.hpp"
#include "full_size.hpp"
#include "lab/errors.hpp"
#include "lab/launch_limits.hpp"
#include "lab/random.hpp"
#include "lab/time_kernel.hpp"
#include "lab/timer.hpp"
#include "lab_testing.hpp"
#include "reference.hpp"
#include "required_work.hpp"
#include "steps.hpp"

namespace {

using lab::device_limit;
using lab::random_words;
using lab::hash_table_gpu::build;
using lab::hash_table_gpu::check;
using lab::hash_table_gpu::kDefaultBuckets;
using lab::hash_table_gpu::kDefaultSize;
using lab::hash_table_gpu::kEnd;
using lab::hash_table_gpu::step;
using lab::testing::at_other_sizes;
using lab::testing::bytes_of;
using lab::testing::expect_at_full_size;
using lab::testing::expect_failures_reported;
using lab::testing::is_time_of;
using lab::testing::matches;
using lab::testing::need_the_device;
using lab::testing::setting;
using lab::testing::timed;
using lab::testing::work_of;
using lab::testing::detail::before_call;
using numbers = std::vector<std::uint32_t>;

// A lock that is never released makes the kernel wait forever. The CPU device ends it; its default
// of 30 seconds would be a long time for a student to wait.
const setting kTimeLimit("CPU_DEVICE_TIME_LIMIT", "10", setting::when::unless_given);

using named_step = lab::testing::named<step>;
constexpr named_step kSteps[] = {{step::locks, "locks"}, {step::lock_free, "lock_free"}};

void expect_right_table(step version, const numbers& keys, const numbers& values,
                        std::size_t buckets) {
  const auto built = build(version, keys, values, buckets).built;
  ASSERT_TRUE(matches(check(built, keys, values, buckets)));
  for (std::size_t i = 0; i < keys.size(); ++i) {  // the contract says which entry is whose
    ASSERT_EQ(built.pool[i].key, keys[i]) << "of entry " << i;
    ASSERT_EQ(built.pool[i].value, values[i]) << "of entry " << i;
  }
}

// --- who does the work ---------------------------------------------------------------------------

/// How many buckets have a key.
std::size_t used_buckets(const numbers& keys, std::size_t buckets) {
  std::set<std::size_t> used;
  for (const std::uint32_t key : keys) used.insert(key % buckets);
  return used.size();
}

REQUIRED_WORK(AKernelWhoseThreadsInsert) {
  const std::size_t n = 4099;
  const numbers keys = random_words(n, 1), values = random_words(n, 2);
  for (const auto& [version, name] : kSteps)
    for (const std::size_t buckets : {1, 64, 3001}) {
      SCOPED_TRACE(std::to_string(buckets) + (buckets == 1 ? " bucket" : " buckets"));
      const auto is_right = [version = version, buckets](const numbers& some, const numbers& more) {
        return matches(check(build(version, some, more, buckets).built, some, more, buckets));
      };
      const lab::testing::work done = work_of([&] { return is_right(keys, values); });
      EXPECT_TRUE(as_required(done, {.threads = 512,
                                     .blocks = 2,
                                     .sent = 2 * bytes_of(keys),
                                     .fetched = 3 * bytes_of(keys),
                                     .reads = bytes_of(keys),
                                     .writes = 2 * bytes_of(keys),
                                     .atomics = true}))
          << name;
      EXPECT_TRUE(at_other_sizes([&](std::size_t few) {
        return is_right(random_words(few, 1), random_words(few, 2));
      })) << name;
      if (!done.watched) continue;
      std::uint64_t words = 0, atomics = 0;
      for (const auto& k : done.kernels) words += k.atomic_places, atomics += k.atomics;
      EXPECT_GE(words, used_buckets(keys, buckets))
          << name << ": each bucket has a lock or a head of its own";
      if (version == step::lock_free) {
        EXPECT_EQ(atomics, keys.size()) << name << ": one per key";
      }
    }
}

REQUIRED_WORK(EntriesThatPointersLink) {
  const numbers keys = random_words(300, 1), values = random_words(300, 2);
  const auto done = work_of(
      [&] { return matches(check(build(step::locks, keys, values, 20).built, keys, values, 20)); });
  EXPECT_TRUE(as_required(done, {.threads = 32})) << "locks";
  std::size_t addresses = 0;
  for (const auto& copy : done.copies) addresses += copy.addresses;
  // (In memory that the host reaches, there is nothing to relocate.)
  if (done.host_memory.empty()) {
    EXPECT_GE(addresses, keys.size())
        << "locks: each entry follows a head or another entry, by its address on the device";
  }
}

REQUIRED_WORK(LinksThatComeFromTheDevice) {
  // Keys and values come back, but no link does: a table that is right all the same has been linked
  // by the host.
  const numbers keys = random_words(300, 1), values = random_words(300, 2);
  for (const auto& [version, name] : kSteps)
    EXPECT_TRUE(need_the_device([&, version = version] {
      return matches(check(build(version, keys, values, 20).built, keys, values, 20));
    })) << name;
}

TEST(LargeTable, IsRightToo) {
  for (const auto& [version, name] : kSteps) {
    const std::size_t keys = version == step::lock_free ? 120'011 : 20'011;
    expect_right_table(version, random_words(keys, 5), random_words(keys, 6), 1024);
  }
}

// --- every step, at every size -------------------------------------------------------------------

class Table : public ::testing::TestWithParam<std::tuple<named_step, std::size_t, std::size_t>> {};

TEST_P(Table, HoldsRandomKeysInTheirBuckets) {
  const auto& [version, n, buckets] = GetParam();
  expect_right_table(version.value, random_words(n, n + 1), random_words(n, n + 2), buckets);
}

// Around a warp (32) and a block (256), a prime; one bucket, few, more than there are keys.
INSTANTIATE_TEST_SUITE_P(Steps, Table,
                         ::testing::Combine(::testing::ValuesIn(kSteps),
                                            ::testing::Values(0, 1, 31, 32, 33, 255, 256, 257,
                                                              2003),
                                            ::testing::Values(1, 7, 64, 3001)),
                         [](const auto& info) {
                           return std::string(std::get<0>(info.param).name) + "_n" +
                                  std::to_string(std::get<1>(info.param)) + "_buckets" +
                                  std::to_string(std::get<2>(info.param));
                         });

using EachSeed = lab::testing::each_step_and<named_step>;
INSTANTIATE_TEST_SUITE_P(Steps, EachSeed,
                         ::testing::Combine(::testing::ValuesIn(kSteps),
                                            ::testing::Values(1, 2, 3)),
                         lab::testing::by_step_and{"_seed"});

TEST_P(EachSeed, FillsTheBooksBuckets) {
  const auto& [version, seed] = GetParam();
  expect_right_table(version.value, random_words(5000, 100 * seed),
                     random_words(5000, 100 * seed + 1), 1024);
}

using EachStep = lab::testing::each_step<named_step>;
INSTANTIATE_TEST_SUITE_P(Steps, EachStep, ::testing::ValuesIn(kSteps), lab::testing::by_step);

TEST_P(EachStep, HoldsMoreKeysThanTheDeviceRunsThreads) {
  // Each thread has to come back for another key.
  const std::size_t n = std::size_t{2} * device_limit(cudaDevAttrMultiProcessorCount) *
                            device_limit(cudaDevAttrMaxThreadsPerMultiProcessor) +
                        45;
  expect_right_table(version(), random_words(n, 21), random_words(n, 22), 500);
}

TEST_P(EachStep, KeepsEveryDuplicate) {
  const numbers keys(1000, 77), values = random_words(1000, 3);
  expect_right_table(version(), keys, values, 10);
}

TEST_P(EachStep, HoldsAWarpWhoseLanesAllWantTheSameBucket) {
  // Neighbours in one bucket, each time another one: 0, 0, …, 1, 1, …
  numbers keys(40 * 32);
  for (std::size_t i = 0; i < keys.size(); ++i) keys[i] = static_cast<std::uint32_t>(i / 32);
  expect_right_table(version(), keys, random_words(keys.size(), 4), 16);
}

TEST_P(EachStep, TakesTheSmallestAndTheLargestKeysAndValues) {
  expect_right_table(version(), {0, 0xFFFFFFFF, 0xFFFFFFFE, 0x80000000, 0, 1},
                     {0xFFFFFFFF, 0, 7, 0x80000000, 0xFFFFFFFE, 1}, 3);
}

TEST_P(EachStep, PutsMultiplesOfTheNumberOfBucketsIntoTheFirst) {
  // Times a rounded reciprocal, in float or double, some of them are less than the whole number.
  for (const std::uint32_t buckets : {41U, 47U, 49U, 55U, 61U, 98U, 103U, 107U, 1'000'003U}) {
    numbers keys;
    for (std::uint32_t k = 1; k <= 40; ++k)
      for (const std::uint32_t multiple : {k * buckets, (kEnd / buckets - k + 1) * buckets})
        keys.insert(keys.end(), {multiple - 1, multiple, multiple + 1});
    expect_right_table(version(), keys, random_words(keys.size(), buckets), buckets);
  }
}

TEST_P(EachStep, BucketsByTheKeyAndNotByTheValue) {
  const auto t = build(version(), numbers{3}, numbers{8}, 10).built;
  EXPECT_EQ(t.heads[3], 0U);
  EXPECT_EQ(t.heads[8], kEnd);
}

TEST_P(EachStep, LeavesEmptyBucketsEmpty) {
  const auto t = build(version(), {}, {}, 5).built;
  EXPECT_EQ(t.heads, numbers(5, kEnd));
}

TEST_P(EachStep, BuildsANewTableEachTime) {
  for (const std::uint64_t seed : {1, 2})
    expect_right_table(version(), random_words(300, seed), random_words(300, seed + 9), 20);
}

TEST_P(EachStep, BuildsANewTableWhenItsKernelIsRepeated) {
  const lab::repeated_timing samples(2);
  expect_right_table(version(), random_words(300, 3), random_words(300, 4), 20);
}

// --- refusals, time ------------------------------------------------------------------------------

TEST_P(EachStep, RefusesKeysAndValuesOfDifferentNumber) {
  EXPECT_THROW(build(version(), numbers{1, 2}, numbers{1}, 8), lab::invalid_input);
  EXPECT_THROW(build(version(), numbers{1}, numbers{1, 2}, 8), lab::invalid_input);
}

TEST_P(EachStep, RefusesATableWithoutBuckets) {
  EXPECT_THROW(build(version(), numbers{1}, numbers{1}, 0), lab::invalid_input);
  EXPECT_THROW(build(version(), {}, {}, 0), lab::invalid_input);
}

TEST_P(EachStep, RefusesMoreBucketsThanNumbers) {
  EXPECT_THROW(build(version(), numbers{1}, numbers{1}, std::size_t{kEnd} + 1), lab::invalid_input);
}

TEST_P(EachStep, SaysHowLongItTook) {
  const numbers keys = random_words(2000, 1);
  EXPECT_TRUE(
      is_time_of(timed::kernel, [&] { return build(version(), keys, keys, 100).kernel_ms; }));
}

TEST_P(EachStep, SaysHowLongItTookFromTheKeysInHostMemory) {
  double copy_ms = 0;     // 0 where nothing is done before a call: on a GPU, or in a grader
  bool launched = false;  // the copies after the kernel are those of the table
  const before_call launch("cudaLaunchKernel", 1, [&] { launched = true; });
  const before_call takes_a_while("cudaMemcpy|cudaMemcpyAsync|cudaMemcpy2D|cudaMemcpy2DAsync", 1,
                                  [&] {
                                    if (launched) return;
                                    const lab::host_timer since;
                                    while (copy_ms < 5) copy_ms = since.milliseconds();
                                  });
  const numbers keys = random_words(10, 1);
  const float whole_ms = build(version(), keys, keys, 7).whole_ms;
  EXPECT_GE(whole_ms, 0.99 * copy_ms) << "it does not contain the first copy of the keys";
}

FAULT_TEST_P(EachStep, ReportsEveryCallThatFails) {
  const numbers keys = random_words(100, 1), values = random_words(100, 2);
  expect_failures_reported(
      [&] { return matches(check(build(version(), keys, values, 7).built, keys, values, 7)); },
      keys, values);
}

TEST_P(EachStep, HoldsTheProgramsKeys) {
  expect_at_full_size([&] {
    expect_right_table(version(), random_words(kDefaultSize, 7), random_words(kDefaultSize, 8),
                       kDefaultBuckets);
  });
}

}  // namespace
