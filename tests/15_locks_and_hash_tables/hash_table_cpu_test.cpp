// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "hash_table_cpu.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <new>
#include <numeric>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include "full_size.hpp"
#include "lab/errors.hpp"
#include "lab/random.hpp"
#include "lab/timer.hpp"
#include "lab_testing.hpp"
#include "reference.hpp"
#include "required_work.hpp"

namespace {

using lab::random_words;
using lab::hash_table_cpu::build;
using lab::hash_table_cpu::check;
using lab::hash_table_cpu::find;
using lab::hash_table_cpu::kEnd;
using lab::hash_table_cpu::table;
using lab::testing::matches;
using lab::testing::work_of;
using numbers = std::vector<std::uint32_t>;

/// While one lives, each allocation by this thread takes 10 ms longer. (A grader's student has
/// another process, and allocates as fast as ever.)
class slow_memory {
 public:
  slow_memory() { spent_ = 0; }
  slow_memory(const slow_memory&) = delete;
  slow_memory& operator=(const slow_memory&) = delete;
  ~slow_memory() { spent_ = -1; }
  /// How much longer all of them have taken.
  double milliseconds() const { return spent_; }

  static void allocates() {
    if (spent_ < 0) return;
    const lab::host_timer since;
    while (since.milliseconds() < 10) {
    }
    spent_ += since.milliseconds();
  }

 private:
  static thread_local double spent_;  // negative: there is none
};
thread_local double slow_memory::spent_ = -1;

/// Whether each link leads to an entry that was inserted earlier. In a table that check() accepts,
/// the one inserted last then comes first in each chain.
::testing::AssertionResult newest_first(const table& t) {
  for (std::size_t i = 0; i < t.pool.size(); ++i)
    if (t.pool[i].next != kEnd && t.pool[i].next >= i)
      return ::testing::AssertionFailure() << "entry " << i << " is in front of entry "
                                           << t.pool[i].next << ", which was inserted after it";
  return ::testing::AssertionSuccess();
}

void expect_right_table(const numbers& keys, const numbers& values, std::size_t buckets) {
  const table built = build(keys, values, buckets).built;
  ASSERT_TRUE(matches(check(built, keys, values, buckets)));
  ASSERT_TRUE(newest_first(built));
  for (std::size_t i = 0; i < keys.size(); ++i) {  // the contract says which entry is whose
    ASSERT_EQ(built.pool[i].key, keys[i]) << "of entry " << i;
    ASSERT_EQ(built.pool[i].value, values[i]) << "of entry " << i;
  }
}

/// A table to search in. In a wrong one a search might never end, so the table is checked first.
table right_table(const numbers& keys, const numbers& values, std::size_t buckets) {
  table built = build(keys, values, buckets).built;
  if (const auto result = check(built, keys, values, buckets); !result.ok)
    throw std::runtime_error("build() made a wrong table: " + result.message);
  return built;
}

}  // namespace

void* operator new(std::size_t bytes) {
  slow_memory::allocates();
  if (void* const memory = std::malloc(std::max<std::size_t>(bytes, 1))) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace {

// --- who does the work ---------------------------------------------------------------------------

REQUIRED_WORK(TheHostAlone) {
  const numbers keys{1, 2, 1}, values{7, 8, 9};
  const lab::testing::work done =
      work_of([&] { return matches(check(build(keys, values, 4).built, keys, values, 4)); });
  EXPECT_TRUE(as_required(done, {.kernels = 0}));
  EXPECT_TRUE(done.calls.empty());
}

class Table : public ::testing::TestWithParam<std::tuple<std::size_t, std::size_t>> {};

TEST_P(Table, HoldsRandomKeysInTheirBuckets) {
  const auto& [n, buckets] = GetParam();
  for (const std::uint64_t seed : {1, 2, 3})
    expect_right_table(random_words(n, 10 * seed), random_words(n, 10 * seed + 5), buckets);
}

// One bucket; more buckets than keys; numbers of buckets that divide 2^32 and that do not.
INSTANTIATE_TEST_SUITE_P(Sizes, Table,
                         ::testing::Combine(::testing::Values(0, 1, 2, 31, 1000, 4099),
                                            ::testing::Values(1, 2, 7, 64, 1023, 1024, 10007)),
                         [](const auto& info) {
                           return "n" + std::to_string(std::get<0>(info.param)) + "_buckets" +
                                  std::to_string(std::get<1>(info.param));
                         });

TEST(Build, KeepsEveryDuplicate) {
  const numbers keys(500, 77), values = random_words(500, 3);
  expect_right_table(keys, values, 10);
}

TEST(Build, TakesTheSmallestAndTheLargestKeysAndValues) {
  expect_right_table({0, 0xFFFFFFFF, 0xFFFFFFFE, 0x80000000, 0, 1},
                     {0xFFFFFFFF, 0, 7, 0x80000000, 0xFFFFFFFE, 1}, 3);
}

TEST(Build, PutsNewEntriesToTheFront) {
  // 4, 14 and 24 share bucket 4; 5 has bucket 5 for itself.
  const table t = build(numbers{4, 5, 14, 24}, numbers{0, 0, 0, 0}, 10).built;
  EXPECT_EQ(t.heads[4], 3U);
  EXPECT_EQ(t.pool[3].next, 2U);
  EXPECT_EQ(t.pool[2].next, 0U);
  EXPECT_EQ(t.pool[0].next, kEnd);
  EXPECT_EQ(t.heads[5], 1U);
  EXPECT_EQ(t.pool[1].next, kEnd);
}

TEST(Build, FindsTheBucketOfEveryMultipleOfTheirNumber) {
  // And of its neighbours. A quotient that was rounded is one too small, or too large, for some.
  for (std::uint32_t buckets = 1; buckets <= 300; ++buckets) {
    numbers keys;
    for (const std::uint32_t factor : {1U, 2U, 3U, 5U, 7U, 1000U, kEnd / buckets})
      for (const std::uint32_t more : {0xFFFF'FFFFU, 0U, 1U})
        keys.push_back(factor * buckets + more);
    ASSERT_NO_FATAL_FAILURE(expect_right_table(keys, keys, buckets)) << buckets << " buckets";
  }
}

TEST(Build, BucketsByTheKeyAndNotByTheValue) {
  const table t = build(numbers{3}, numbers{8}, 10).built;
  EXPECT_EQ(t.heads[3], 0U);
  EXPECT_EQ(t.heads[8], kEnd);
}

TEST(Build, HoldsMoreKeysThan20BitsCanCountAndMoreBucketsThan16) {
  lab::testing::expect_at_full_size([] {
    const std::size_t n = (std::size_t{1} << 20) + 70'000, buckets = 70'001;
    const numbers keys = random_words(n, 1), values = random_words(n, 2);
    const table built = build(keys, values, buckets).built;
    const auto right = matches(check(built, keys, values, buckets));
    return right ? newest_first(built) : right;
  });
}

TEST(Build, RefusesKeysAndValuesOfDifferentNumber) {
  EXPECT_THROW(build(numbers{1, 2}, numbers{1}, 8), lab::invalid_input);
  EXPECT_THROW(build(numbers{1}, numbers{1, 2}, 8), lab::invalid_input);
  EXPECT_THROW(build(numbers{}, numbers{1}, 8), lab::invalid_input);
}

TEST(Build, RefusesATableWithoutBuckets) {
  EXPECT_THROW(build(numbers{1}, numbers{1}, 0), lab::invalid_input);
  EXPECT_THROW(build(numbers{}, numbers{}, 0), lab::invalid_input);
}

TEST(Build, RefusesMoreBucketsThanNumbers) {
  EXPECT_THROW(build(numbers{1}, numbers{1}, std::size_t{kEnd} + 1), lab::invalid_input);
}

TEST(Build, SaysHowLongItTook) {
  const numbers keys = random_words(20000, 1);
  const float milliseconds = build(keys, keys, 100).build_ms;
  EXPECT_GT(milliseconds, 0.0F);
  EXPECT_LT(milliseconds, 60'000.0F);
}

TEST(Build, TakesNoLongerThanTheWholeCall) {
  // The insertions are a part of the call, however slow the machine is. One key is quickly
  // inserted: of 200 calls at least one takes less time than any that is made up.
  const numbers one = {7};
  double least_else = std::numeric_limits<double>::infinity();
  for (int i = 0; i < 200; ++i) {
    const lab::host_timer call;
    const float milliseconds = build(one, one, 1).build_ms;
    least_else = std::min(least_else, call.milliseconds() - static_cast<double>(milliseconds));
  }
  EXPECT_GE(least_else, -0.01)  // another clock may count in microseconds
      << "build_ms is longer than the call took: measure the insertions";
}

TEST(Build, AllocatesNothingWhileItMeasuresTheInsertions) {
  const numbers keys = random_words(1000, 1);
  for (int i = 0; i < 4;
       ++i) {  // on a busy machine, other things may take as long as an allocation
    const slow_memory slow;
    const lab::host_timer call;
    const double milliseconds = static_cast<double>(build(keys, keys, 10).build_ms);
    const double others = call.milliseconds() - slow.milliseconds();
    ASSERT_LE(0.99 * milliseconds, others)
        << "build_ms contains the time in which memory is allocated: make_empty() allocates all of "
           "it, before the insertions are measured";
  }
}

TEST(Build, MeasuresTheInsertionsWithoutTheMemory) {
  // One key in ten million buckets: to allocate them takes thousands of times as long as to insert
  // it. The shortest of several times, of both: what else a machine does only makes them longer.
  lab::testing::expect_at_full_size([] {
    const numbers one = {7};
    constexpr std::size_t kBuckets = 10'000'000;
    double allocation = std::numeric_limits<double>::infinity(), insertion = allocation;
    for (int i = 0; i < 3; ++i) {
      const lab::host_timer since;
      const numbers heads(kBuckets, kEnd);
      allocation = std::min(allocation, since.milliseconds());
      ASSERT_EQ(heads.back(), kEnd);  // somebody uses it, so it is allocated
      insertion = std::min(insertion, static_cast<double>(build(one, one, kBuckets).build_ms));
    }
    EXPECT_LT(insertion, allocation / 2)
        << "build_ms contains the time in which memory is allocated: make_empty() allocates all of "
           "it, before the insertions are measured";
  });
}

TEST(Find, FindsEveryKeyThatIsThere) {
  numbers keys(1000);
  std::iota(keys.begin(), keys.end(), 4294966000U);
  const numbers values = random_words(1000, 8);
  const table t = right_table(keys, values, 37);
  for (std::size_t i = 0; i < keys.size(); ++i)
    EXPECT_EQ(find(t, keys[i]), values[i]) << "for key " << keys[i];
}

TEST(Find, FindsTheValueInsertedLast) {
  const table t = right_table({5, 15, 5, 25, 5, 15}, {1, 2, 3, 4, 5, 6}, 10);
  EXPECT_EQ(find(t, 5), 5U);
  EXPECT_EQ(find(t, 15), 6U);
  EXPECT_EQ(find(t, 25), 4U);
}

TEST(Find, TakesNoValueForNothing) {
  // Not even those by which a chain ends, or a number is marked as missing.
  const numbers keys = {3, 0xFFFFFFFF, 0}, values = {0xFFFFFFFF, 0x80000000, 0xFFFFFFFE};
  const table t = right_table(keys, values, 2);
  for (std::size_t i = 0; i < keys.size(); ++i) EXPECT_EQ(find(t, keys[i]), values[i]);
}

TEST(Find, FindsTheValueZeroAndTheEndOfALongChain) {
  numbers keys(5000), values(5000);
  std::iota(keys.begin(), keys.end(), 1U);
  std::iota(values.begin(), values.end(), 0U);
  const table t = right_table(keys, values, 1);
  EXPECT_EQ(find(t, 1), 0U);
  EXPECT_EQ(find(t, 2500), 2499U);
}

TEST(Find, ReachesTheEndOfAChainOfAMillion) {
  // By hand: every entry links to the one before it. A call for each of them would need more than
  // the stack has.
  constexpr std::uint32_t kEntries = 1'000'000;
  table t{{kEntries - 1}, {}};
  for (std::uint32_t i = 0; i < kEntries; ++i) t.pool.push_back({i, i + 3, i == 0 ? kEnd : i - 1});
  EXPECT_EQ(find(t, 0), 3U);
  EXPECT_EQ(find(t, kEntries - 1), kEntries + 2);
  EXPECT_EQ(find(t, kEntries), std::nullopt);
}

TEST(Find, FindsNothingWhereNothingIs) {
  const table t = right_table({5, 15, 6}, {1, 2, 3}, 10);
  EXPECT_EQ(find(t, 25), std::nullopt) << "another key of a bucket that is not empty";
  EXPECT_EQ(find(t, 7), std::nullopt) << "a key of an empty bucket";
  EXPECT_EQ(find(t, 1), std::nullopt) << "a value that is no key";
  EXPECT_EQ(find(right_table({}, {}, 4), 0), std::nullopt) << "any key in an empty table";
}

TEST(Find, FindsTheValueInsertedLastWhereKeysAreTheNumbersOfEntries) {
  const table t = right_table({0, 1, 2, 1, 0}, {10, 11, 12, 13, 14}, 3);
  EXPECT_EQ(find(t, 0), 14U);
  EXPECT_EQ(find(t, 1), 13U);
  EXPECT_EQ(find(t, 2), 12U);
}

TEST(Find, FollowsTheLinksInWhateverOrderTheyAre) {
  // As many threads may have built it: in bucket 0 the entries 1, 3, 0 and 2, one after the other.
  const table t{{1}, {{5, 10, 2}, {6, 11, 3}, {7, 12, kEnd}, {8, 13, 0}}};
  const numbers keys = {5, 6, 7, 8};
  for (std::uint32_t i = 0; i < 4; ++i) EXPECT_EQ(find(t, keys[i]), 10 + i) << "for " << keys[i];
}

TEST(Find, TakesTheFirstEntryOfTheChainWhateverItsNumber) {
  // The key 5 is in entries 1, 0 and 2, in this order; then the key 6.
  const table t{{1}, {{5, 10, 2}, {5, 11, 0}, {5, 12, 3}, {6, 13, kEnd}}};
  EXPECT_EQ(find(t, 5), 11U);
  EXPECT_EQ(find(t, 6), 13U);
}

TEST(Find, SeesWhatIsInTheTableNow) {
  table t = right_table({5, 6}, {1, 2}, 1);
  EXPECT_EQ(find(t, 5), 1U);
  t.pool[0].value = 3;
  EXPECT_EQ(find(t, 5), 3U) << "the value is another one now";
}

TEST(Find, LooksIntoOneBucketOnly) {
  // A key that is in the wrong bucket is not found.
  table t = right_table({5, 6}, {1, 2}, 10);
  std::swap(t.heads[5], t.heads[6]);
  EXPECT_EQ(find(t, 5), std::nullopt);
}

TEST(Find, RefusesATableWithoutBuckets) { EXPECT_THROW(find({}, 1), lab::invalid_input); }

// --- the check itself: it has to see what 15.4 can do wrong --------------------------------------

class Check : public ::testing::Test {
 protected:
  // By hand, so that it does not depend on build(): buckets 0 (6, 3), 1 (4) and 2 (5, 2).
  const numbers keys = {6, 4, 5, 3, 2}, values = {10, 11, 12, 13, 14};
  table t = {{3, 1, 4}, {{6, 10, kEnd}, {4, 11, kEnd}, {5, 12, kEnd}, {3, 13, 0}, {2, 14, 2}}};

  void expect_wrong(const std::string& word) {
    const auto result = check(t, keys, values, 3);
    EXPECT_FALSE(result.ok) << result.message;
    EXPECT_NE(result.message.find(word), std::string::npos) << result.message;
  }
};

TEST_F(Check, AcceptsARightTable) { EXPECT_TRUE(matches(check(t, keys, values, 3))); }
TEST_F(Check, AcceptsAnotherOrderInAChain) {
  t.heads[0] = 0;
  t.pool[0].next = 3;
  t.pool[3].next = kEnd;
  EXPECT_TRUE(matches(check(t, keys, values, 3)));
}
TEST_F(Check, SeesALostEntry) {
  t.pool[3].next = kEnd;
  expect_wrong("1 of 5 entries are in no chain");
}
TEST_F(Check, SeesACircle) {
  t.pool[0].next = 3;
  expect_wrong("circle");
}
TEST_F(Check, SeesAChainThatRunsIntoAnother) {
  t.pool[1].next = 2;
  expect_wrong("bucket 1 holds the key 5, which belongs to bucket 2");
}
TEST_F(Check, SeesALinkOutOfThePool) {
  t.pool[0].next = 5;
  expect_wrong("leads out of the pool");
}
TEST_F(Check, SeesAnEntryInAWrongBucket) {
  std::swap(t.heads[0], t.heads[1]);
  expect_wrong("belongs to");
}
TEST_F(Check, SeesAChangedKey) {
  t.pool[0].key = 9;
  expect_wrong("does not hold what was inserted");
}
TEST_F(Check, SeesAChangedValue) {
  t.pool[2].value = 13;
  expect_wrong("does not hold what was inserted");
}
TEST_F(Check, SeesAPoolThatIsTooSmallOrTooLarge) {
  t.pool.push_back({3, 13, kEnd});
  expect_wrong("6 entries");
  t.pool.resize(4);
  expect_wrong("4 entries");
}
TEST_F(Check, SeesAWrongNumberOfBuckets) {
  t.heads.pop_back();
  expect_wrong("2 buckets instead of 3");
}

}  // namespace
