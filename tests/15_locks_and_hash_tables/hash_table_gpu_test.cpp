// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "hash_table_gpu.hpp"

#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "fault_tests.hpp"
#include "lab/closeness.hpp"
#include "lab/errors.hpp"
#include "lab/launch_limits.hpp"
#include "lab/random.hpp"
#include "lab_testing.hpp"
#include "reference.hpp"
#include "required_work.hpp"
#include "steps.hpp"

namespace {

using lab::device_limit;
using lab::random_words;
using lab::hash_table_gpu::apply_batches;
using lab::hash_table_gpu::batch;
using lab::hash_table_gpu::build;
using lab::hash_table_gpu::check;
using lab::hash_table_gpu::different_keys;
using lab::hash_table_gpu::kEnd;
using lab::hash_table_gpu::kNone;
using lab::hash_table_gpu::kWindow;
using lab::hash_table_gpu::operation;
using lab::hash_table_gpu::step;
using lab::hash_table_gpu::to_be_found;
using lab::testing::bytes_of;
using lab::testing::expect_failures_reported;
using lab::testing::matches;
using lab::testing::setting;
using lab::testing::work_of;
using numbers = std::vector<std::uint32_t>;

// A lock that is never given back makes the kernel wait for ever. The CPU device ends it; 30
// seconds, its default, would be a long time for a student to wait.
const setting kTimeLimit("CPU_DEVICE_TIME_LIMIT", "10", setting::when::unless_given);

using named_step = lab::testing::named<step>;
constexpr named_step kSteps[] = {{step::locks, "locks"}, {step::lock_free, "lock_free"}};

void expect_right_table(step which, const numbers& keys, const numbers& values,
                        std::size_t buckets) {
  const auto built = build(which, keys, values, buckets).built;
  ASSERT_TRUE(matches(check(built, keys, values, buckets)));
  for (std::size_t i = 0; i < keys.size(); ++i) {  // the contract says which entry is whose
    ASSERT_EQ(built.pool[i].key, keys[i]) << "of entry " << i;
    ASSERT_EQ(built.pool[i].value, values[i]) << "of entry " << i;
  }
}

// Of step open_addressing. The values are none that stands for "not there".
batch insert(const numbers& keys, numbers values) {
  for (std::uint32_t& value : values) value -= value == kNone;
  return {operation::insert, keys, values};
}
batch insert(const numbers& keys, std::uint64_t seed) {
  return insert(keys, random_words(keys.size(), seed));
}
batch find(const numbers& keys) { return {operation::find, keys, {}}; }
batch erase(const numbers& keys) { return {operation::erase, keys, {}}; }

::testing::AssertionResult finds_what_it_should(std::size_t slots,
                                                const std::vector<batch>& batches) {
  const auto found = apply_batches(slots, batches).found;
  const auto expected = to_be_found(batches);
  if (found.size() != expected.size())
    return ::testing::AssertionFailure()
           << "there are answers for " << found.size() << " of " << expected.size() << " batches";
  for (std::size_t b = 0; b < expected.size(); ++b) {
    const lab::comparison same = lab::compare_exact(found[b], expected[b]);
    if (!same.ok) return ::testing::AssertionFailure() << "batch " << b << ": " << same.message;
  }
  return ::testing::AssertionSuccess();
}

numbers first_of(const numbers& keys, std::size_t n) {
  return {keys.begin(), keys.begin() + static_cast<std::ptrdiff_t>(n)};
}
numbers after_first(const numbers& keys, std::size_t n) {
  return {keys.begin() + static_cast<std::ptrdiff_t>(n), keys.end()};
}
numbers every_second(const numbers& keys) {
  numbers chosen;
  for (std::size_t i = 0; i < keys.size(); i += 2) chosen.push_back(keys[i]);
  return chosen;
}

// --- who does the work ---------------------------------------------------------------------------

REQUIRED_WORK(AKernelWhoseThreadsInsert) {
  const numbers keys = random_words(2003, 1), values = random_words(2003, 2);
  for (const auto& [which, name] : kSteps) {
    const lab::testing::work done = work_of([&, which = which] {
      return matches(check(build(which, keys, values, 64).built, keys, values, 64));
    });
    EXPECT_TRUE(as_required(done, {.threads = 512,
                                   .blocks = 2,
                                   .sent = 2 * bytes_of(keys),
                                   .fetched = 3 * bytes_of(keys),
                                   .reads = 2 * bytes_of(keys),
                                   .writes = 3 * bytes_of(keys),
                                   .atomics = true}))
        << name;
    if (!done.watched) continue;
    for (const auto& k : done.kernels) {
      EXPECT_GE(k.atomic_places, 64U) << name << ": each of 64 buckets has a lock or a head";
      if (which == step::lock_free) {
        EXPECT_LE(k.atomics, keys.size()) << name << ": one per key";
      }
    }
  }
}

REQUIRED_WORK(KernelsThatInsertFindAndErase) {
  // Four batches, and fewer than four windows a key: half of all slots stay empty.
  const numbers keys = different_keys(2003, 1);
  const lab::testing::work done = work_of([&] {
    return finds_what_it_should(4000, {insert(keys, 2), find(keys), erase(keys), find(keys)});
  });
  EXPECT_TRUE(as_required(done, {.threads = 512,
                                 .blocks = 2,
                                 .kernels = 4,
                                 .sent = 5 * bytes_of(keys),
                                 .fetched = 2 * bytes_of(keys),
                                 .reads = 5 * bytes_of(keys),
                                 .writes = 4 * bytes_of(keys),
                                 .reads_at_most = 4 * 4 * (2 + 2 * kWindow) * bytes_of(keys),
                                 .atomics = true}))
      << "open_addressing";
}

TEST(LargeTable, IsRightToo) {
  for (const auto& [which, name] : kSteps) {
    const std::size_t keys = which == step::lock_free ? 120'011 : 20'011;
    expect_right_table(which, random_words(keys, 5), random_words(keys, 6), 1024);
  }
}

// --- every step, at every size -------------------------------------------------------------------

class Table : public ::testing::TestWithParam<std::tuple<named_step, std::size_t, std::size_t>> {};

TEST_P(Table, HoldsRandomKeysInTheirBuckets) {
  const auto& [which, n, buckets] = GetParam();
  expect_right_table(which.value, random_words(n, n + 1), random_words(n, n + 2), buckets);
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
  const auto& [which, seed] = GetParam();
  expect_right_table(which.value, random_words(5000, 100 * seed),
                     random_words(5000, 100 * seed + 1), 1024);
}

using EachStep = lab::testing::each_step<named_step>;
INSTANTIATE_TEST_SUITE_P(Steps, EachStep, ::testing::ValuesIn(kSteps), lab::testing::by_step);

TEST_P(EachStep, HoldsMoreKeysThanTheDeviceRunsThreads) {
  // Each thread has to come back for another key.
  const std::size_t n = std::size_t{2} * device_limit(cudaDevAttrMultiProcessorCount) *
                            device_limit(cudaDevAttrMaxThreadsPerMultiProcessor) +
                        45;
  expect_right_table(which(), random_words(n, 21), random_words(n, 22), 500);
}

TEST_P(EachStep, KeepsEveryDuplicate) {
  const numbers keys(1000, 77), values = random_words(1000, 3);
  expect_right_table(which(), keys, values, 10);
}

TEST_P(EachStep, HoldsAWarpWhoseLanesAllWantTheSameBucket) {
  // Neighbours in one bucket, each time another one: 0, 0, …, 1, 1, …
  numbers keys(40 * 32);
  for (std::size_t i = 0; i < keys.size(); ++i) keys[i] = static_cast<std::uint32_t>(i / 32);
  expect_right_table(which(), keys, random_words(keys.size(), 4), 16);
}

TEST_P(EachStep, TakesTheSmallestAndTheLargestKeysAndValues) {
  expect_right_table(which(), {0, 0xFFFFFFFF, 0xFFFFFFFE, 0x80000000, 0, 1},
                     {0xFFFFFFFF, 0, 7, 0x80000000, 0xFFFFFFFE, 1}, 3);
}

TEST_P(EachStep, BucketsByTheKeyAndNotByTheValue) {
  const auto t = build(which(), numbers{3}, numbers{8}, 10).built;
  EXPECT_EQ(t.heads[3], 0U);
  EXPECT_EQ(t.heads[8], kEnd);
}

TEST_P(EachStep, LeavesEmptyBucketsEmpty) {
  const auto t = build(which(), {}, {}, 5).built;
  EXPECT_EQ(t.heads, numbers(5, kEnd));
}

TEST_P(EachStep, BuildsANewTableEachTime) {
  for (const std::uint64_t seed : {1, 2})
    expect_right_table(which(), random_words(300, seed), random_words(300, seed + 9), 20);
}

// --- open_addressing -----------------------------------------------------------------------------

/// Number of keys, and how many of 100 slots they take.
class Loads : public ::testing::TestWithParam<std::tuple<std::size_t, std::size_t>> {};

// Around a tile (4), a warp and a block; a prime. At 100 % the last keys have to visit everything.
INSTANTIATE_TEST_SUITE_P(Steps, Loads,
                         ::testing::Combine(::testing::Values(1, 3, 4, 5, 31, 32, 33, 255, 256, 257,
                                                              2003),
                                            ::testing::Values(5, 50, 75, 95, 100)),
                         [](const auto& info) {
                           return "open_addressing_n" + std::to_string(std::get<0>(info.param)) +
                                  "_load" + std::to_string(std::get<1>(info.param));
                         });

TEST_P(Loads, FindsWhatIsThereAndNothingElse) {
  const auto [n, load] = GetParam();
  const std::size_t slots = (n * 100 + load - 1) / load;
  // Fewer keys that are not there: without an empty slot, each search for one visits everything.
  const numbers keys = different_keys(n + n / 8 + 1, n), present = first_of(keys, n);
  EXPECT_TRUE(finds_what_it_should(
      slots, {find(present), insert(present, load), find(keys), erase(every_second(present)),
              find(keys), erase(present), find(present)}));
}

TEST(OpenAddressing, HasRoomForAsManyKeysAsItHasSlots) {
  // Whatever the number of windows is, each key's search has to visit all of them.
  for (std::size_t slots = 1; slots <= 100; ++slots) {
    const numbers keys = different_keys(slots, slots);
    EXPECT_TRUE(finds_what_it_should(slots, {insert(keys, slots), find(keys)})) << slots;
  }
}

TEST(OpenAddressing, HoldsMoreKeysThanTheDeviceRunsThreads) {
  const std::size_t n = device_limit(cudaDevAttrMultiProcessorCount) *
                            device_limit(cudaDevAttrMaxThreadsPerMultiProcessor) +
                        45;
  const numbers keys = different_keys(n, 21);
  EXPECT_TRUE(finds_what_it_should(2 * n, {insert(keys, 22), find(keys), erase(keys), find(keys)}));
}

TEST(OpenAddressing, TakesKeysThatFollowAPattern) {
  numbers neighbours(1000), multiples(1000);
  for (std::size_t i = 0; i < neighbours.size(); ++i) {
    neighbours[i] = static_cast<std::uint32_t>(i);
    multiples[i] = static_cast<std::uint32_t>(i) << 16;
  }
  for (const numbers& keys : {neighbours, multiples})
    EXPECT_TRUE(finds_what_it_should(1100, {insert(keys, 1), find(keys)}));
}

TEST(OpenAddressing, TakesTheSmallestAndTheLargestKeysAndValues) {
  const numbers keys{0, kNone - 1, 1, 0x80000000}, values{kNone - 1, 0, 0x80000000, 1};
  EXPECT_TRUE(finds_what_it_should(8, {insert(keys, values), find(keys), find({2, kNone - 2})}));
  EXPECT_TRUE(finds_what_it_should(8, {insert({0}, numbers{0}), find({0, 1})}));
}

TEST(OpenAddressing, KeepsTheLargestValueOfAKeyThatComesOften) {
  const numbers values = random_words(1000, 3);
  // One key; all copies of a key in a warp; in different blocks.
  numbers in_warp(values.size()), in_blocks(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    in_warp[i] = static_cast<std::uint32_t>(i / 32);
    in_blocks[i] = static_cast<std::uint32_t>(i % 250);
  }
  for (const numbers& keys : {numbers(values.size(), 77), in_warp, in_blocks}) {
    // In a table that just holds them, no key may have two slots. What has, is there once it has
    // been erased.
    const std::size_t different = *std::max_element(keys.begin(), keys.end()) == 77 ? 1 : 250;
    EXPECT_TRUE(finds_what_it_should(different,
                                     {insert(keys, values), find(keys), erase(keys), find(keys)}));
  }
}

TEST(OpenAddressing, KeepsTheLargerValueOfTwoBatches) {
  const numbers keys = different_keys(500, 4);
  EXPECT_TRUE(finds_what_it_should(500, {insert(keys, 5), insert(keys, 6), find(keys),
                                         insert(keys, numbers(500, 0)), find(keys)}));
}

TEST(OpenAddressing, FindsKeysThatStandBehindErasedOnes) {
  // No slot is empty, so the searches of many keys begin at a window that is full of others.
  for (const std::size_t n : {28, 28 * 37}) {
    const numbers keys = different_keys(n, n);
    EXPECT_TRUE(
        finds_what_it_should(n, {insert(keys, 1), erase(first_of(keys, n / 2)), find(keys)}));
  }
}

TEST(OpenAddressing, HoldsAKeyOnceThoughSlotsBeforeItAreErased) {
  const numbers keys = different_keys(28, 2), rest = after_first(keys, 14);
  EXPECT_TRUE(finds_what_it_should(28, {insert(keys, 1), erase(first_of(keys, 14)), insert(rest, 2),
                                        find(keys), erase(rest), find(keys)}));
}

TEST(OpenAddressing, ForgetsTheValueOfAnErasedKey) {
  const numbers keys = different_keys(100, 3);
  EXPECT_TRUE(finds_what_it_should(300, {insert(keys, numbers(100, 9)), erase(keys),
                                         insert(keys, numbers(100, 4)), find(keys)}));
}

TEST(OpenAddressing, PassesOverKeysToEraseThatAreNotThere) {
  const numbers keys = different_keys(200, 5), present = first_of(keys, 100);
  EXPECT_TRUE(finds_what_it_should(
      300, {erase(keys), insert(present, 1), erase(after_first(keys, 100)), find(keys)}));
  const numbers twice(300, keys[0]);
  EXPECT_TRUE(finds_what_it_should(300, {insert(keys, 1), erase(twice), find(keys)}));
}

TEST(OpenAddressing, AppliesNothingToNothing) {
  EXPECT_TRUE(apply_batches(1, {}).found.empty());
  EXPECT_TRUE(finds_what_it_should(1, {insert({}, 1), find({}), erase({}), find({5})}));
}

TEST(OpenAddressing, BeginsWithAnEmptyTableEachTime) {
  const numbers keys = different_keys(300, 6);
  EXPECT_TRUE(finds_what_it_should(600, {insert(keys, 1), find(keys)}));
  EXPECT_TRUE(finds_what_it_should(600, {find(keys)}));
}

void expect_full(std::size_t slots, const std::vector<batch>& batches, std::size_t lost) {
  try {
    apply_batches(slots, batches);
    FAIL() << "a table of " << slots << " slots took " << lost << " keys too many";
  } catch (const lab::invalid_input& error) {
    const std::string message = error.what(), count = "found none: " + std::to_string(lost) + ".";
    EXPECT_NE(message.find("is full"), std::string::npos) << message;
    EXPECT_NE(message.find(count), std::string::npos) << message;
  }
}

TEST(OpenAddressing, RefusesKeysThatFindNoSlot) {
  for (const std::size_t slots : {std::size_t{kWindow}, std::size_t{kWindow} * 7}) {
    const numbers keys = different_keys(2 * slots, 7), fit = first_of(keys, slots);
    // As many keys as slots, and a key that is there already, are no problem.
    EXPECT_TRUE(finds_what_it_should(slots, {insert(fit, 1), insert(fit, 2), find(keys)}));
    expect_full(slots, {insert(keys, 1)}, slots);
    expect_full(slots, {insert(fit, 1), insert({keys.back()}, 1), find(fit)}, 1);
    expect_full(slots, {insert(fit, 1), erase(fit), insert({keys.back()}, 1)}, 1);
  }
}

TEST(OpenAddressing, RefusesTheNumberThatStandsForNone) {
  EXPECT_THROW(apply_batches(8, std::vector<batch>{{operation::insert, {1, kNone}, {1, 2}}}),
               lab::invalid_input);
  EXPECT_THROW(apply_batches(8, std::vector<batch>{{operation::insert, {1, 2}, {1, kNone}}}),
               lab::invalid_input);
  EXPECT_THROW(apply_batches(8, std::vector<batch>{find({kNone})}), lab::invalid_input);
  EXPECT_THROW(apply_batches(8, std::vector<batch>{erase({kNone, 1})}), lab::invalid_input);
}

TEST(OpenAddressing, RefusesAWrongNumberOfValues) {
  EXPECT_THROW(apply_batches(8, std::vector<batch>{{operation::insert, {1, 2}, {1}}}),
               lab::invalid_input);
  EXPECT_THROW(apply_batches(8, std::vector<batch>{{operation::insert, {1}, {1, 2}}}),
               lab::invalid_input);
  EXPECT_THROW(apply_batches(8, std::vector<batch>{{operation::find, {1}, {1}}}),
               lab::invalid_input);
  EXPECT_THROW(apply_batches(8, std::vector<batch>{{operation::erase, {1}, {1}}}),
               lab::invalid_input);
}

TEST(OpenAddressing, RefusesATableWithoutSlotsOrWithTooMany) {
  EXPECT_THROW(apply_batches(0, {}), lab::invalid_input);
  EXPECT_THROW(apply_batches(std::size_t{kEnd} + 1, {}), lab::invalid_input);
}

TEST(OpenAddressing, HasNoChainsToBuild) {
  EXPECT_THROW(build(step::open_addressing, numbers{1}, numbers{1}, 8), lab::invalid_input);
}

TEST(OpenAddressing, SaysHowLongTheLastBatchTook) {
  const numbers keys = different_keys(2000, 1);
  const std::vector<batch> batches{insert(keys, 1), find(keys), erase(keys)};
  for (std::size_t n = 1; n <= batches.size(); ++n) {
    const float ms = apply_batches(4000, std::span(batches).first(n)).kernel_ms;
    EXPECT_GT(ms, 0.0F);
    EXPECT_LT(ms, 60'000.0F);
  }
}

FAULT_TEST(OpenAddressing, ReportsEveryCallThatFails) {
  const numbers keys = different_keys(100, 1);
  // The last batch is measured; where it is empty, nobody looks at its kernel.
  for (const std::vector<batch>& batches :
       {std::vector{insert(keys, 1), erase(every_second(keys)), find(keys)},
        std::vector{insert(keys, 1)}, std::vector{insert(keys, 1), find(keys), find({})}})
    expect_failures_reported([&] { return finds_what_it_should(200, batches); }, keys);
}

// --- refusals, time ------------------------------------------------------------------------------

TEST_P(EachStep, RefusesKeysAndValuesOfDifferentNumber) {
  EXPECT_THROW(build(which(), numbers{1, 2}, numbers{1}, 8), lab::invalid_input);
  EXPECT_THROW(build(which(), numbers{1}, numbers{1, 2}, 8), lab::invalid_input);
}

TEST_P(EachStep, RefusesATableWithoutBuckets) {
  EXPECT_THROW(build(which(), numbers{1}, numbers{1}, 0), lab::invalid_input);
  EXPECT_THROW(build(which(), {}, {}, 0), lab::invalid_input);
}

TEST_P(EachStep, RefusesMoreBucketsThanNumbers) {
  EXPECT_THROW(build(which(), numbers{1}, numbers{1}, std::size_t{kEnd} + 1), lab::invalid_input);
}

TEST_P(EachStep, SaysHowLongItTook) {
  const numbers keys = random_words(2000, 1);
  const auto result = build(which(), keys, keys, 100);
  EXPECT_GT(result.kernel_ms, 0.0F);
  EXPECT_GE(result.whole_ms, 0.0F);
  EXPECT_LT(result.kernel_ms, 60'000.0F);
}

FAULT_TEST_P(EachStep, ReportsEveryCallThatFails) {
  const numbers keys = random_words(100, 1), values = random_words(100, 2);
  expect_failures_reported(
      [&] { return matches(check(build(which(), keys, values, 7).built, keys, values, 7)); }, keys,
      values);
}

}  // namespace
