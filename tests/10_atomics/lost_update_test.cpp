// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "lost_update.hpp"

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <ostream>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "fault_tests.hpp"
#include "full_size.hpp"
#include "lab/closeness.hpp"
#include "lab/cuda_check.hpp"
#include "lab/errors.hpp"
#include "lab/random.hpp"
#include "lab/time_kernel.hpp"
#include "lab_testing.hpp"
#include "reference.hpp"
#include "required_work.hpp"

namespace lab::lost_update {

/// How GoogleTest prints it where a case fails.
void PrintTo(const moment& after, std::ostream* out) {
  *out << "x " << after.x << " own " << after.own;
}

}  // namespace lab::lost_update

namespace {

using lab::lost_update::all_interleavings;
using lab::lost_update::count;
using lab::lost_update::kDefaultBlocks;
using lab::lost_update::kDefaultRounds;
using lab::lost_update::kDefaultThreads;
using lab::lost_update::kMostThreads;
using lab::lost_update::moment;
using lab::lost_update::operation;
using lab::lost_update::reference;
using lab::lost_update::replay;
using lab::lost_update::turn;
using lab::testing::bytes_of;
using lab::testing::expect_at_full_size;
using lab::testing::expect_failures_reported;
using lab::testing::is_time_of;
using lab::testing::timed;
using lab::testing::work_of;

constexpr auto kRead = operation::read;
constexpr auto kAdd = operation::add;
constexpr auto kWrite = operation::write;

/// Any thread may do any step at any time, writes before it has read, for example.
std::vector<turn> random_turns(std::size_t n, unsigned threads, std::uint64_t seed) {
  lab::random_source random(seed);
  std::vector<turn> turns(n);
  for (turn& one : turns)
    one = {static_cast<unsigned>(random.integer(0, static_cast<int>(threads) - 1)),
           static_cast<operation>(random.integer(0, 2))};
  return turns;
}

/// Turn by turn; the first that differs is named.
::testing::AssertionResult is_as_scheduled(const std::vector<turn>& turns, unsigned threads,
                                           std::int32_t start) {
  const std::vector<moment> actual = replay(turns, threads, start);
  const std::vector<moment> expected = reference(turns, threads, start);
  if (actual.size() != expected.size())
    return ::testing::AssertionFailure()
           << "there are " << expected.size() << " turns, and the replay has " << actual.size();
  for (std::size_t k = 0; k < actual.size(); ++k)
    if (actual[k] != expected[k])
      return ::testing::AssertionFailure()
             << "after turn " << k << ", that of thread " << turns[k].thread << ": x is "
             << actual[k].x << " and its register " << actual[k].own << "; expected "
             << expected[k].x << " and " << expected[k].own << lab::detail::hint_of(actual[k]);
  return ::testing::AssertionSuccess();
}

// --- who does the work ---------------------------------------------------------------------------

REQUIRED_WORK(ThreadsThatTakeTurnsAndThreadsThatDoNot) {
  const auto turns = random_turns(60, 5, 1);
  const auto done = work_of([&] { return is_as_scheduled(turns, 5, 7); });
  EXPECT_TRUE(as_required(done, {.threads = 5,
                                 .sent = bytes_of(turns),
                                 .fetched = turns.size() * sizeof(moment),
                                 .writes = turns.size() * sizeof(moment)}));
  if (done.watched && !done.kernels.empty()) {
    const auto& k = done.kernels.back();
    EXPECT_GT(k.writes + k.shared + k.warp_functions, turns.size() * sizeof(moment))
        << "threads write x where the others read it";
  }
  const std::vector<turn> of_one = {{0, kRead}, {0, kAdd}, {0, kWrite}};
  const auto replayed = work_of([&] { return is_as_scheduled(of_one, 70, 7); });
  EXPECT_TRUE(as_required(replayed, {.threads = 1}));
  if (!replayed.kernels.empty()) {
    EXPECT_EQ(replayed.kernels.back().all_threads(), 70U)
        << "one block with all the requested threads, whether it is their turn or not";
  }
}

REQUIRED_WORK(EachThreadItsOwnTurnsHoweverFewOrManyThereAre) {
  for (const auto& [n, threads] : {std::pair<std::size_t, unsigned>{1, 1},
                                   {1, 70},
                                   {3, 5},
                                   {7, 2},
                                   {40, 5},
                                   {40, 1024},
                                   {2000, 7}}) {
    const auto turns = random_turns(n, threads, 1);
    std::set<unsigned> owners;
    for (const turn& one : turns) owners.insert(one.thread);
    const auto done =
        work_of([&, threads = threads] { return is_as_scheduled(turns, threads, 7); });
    EXPECT_TRUE(as_required(done, {.threads = owners.size(),
                                   .fetched = bytes_of(turns),
                                   .writes = turns.size() * sizeof(moment)}))
        << n << " turns of " << threads << " threads";
    if (!done.kernels.empty()) {
      const auto& k = done.kernels.back();
      EXPECT_EQ(k.all_threads(), threads) << "one block, for " << n << " turns";
      // (A shuffle may pass on what a thread has done.)
      if (done.watched && k.warp_functions == 0) {
        EXPECT_GE(k.writing_threads, owners.size())
            << "threads that do something in the " << n << " turns, each in its own ones";
      }
    }
  }
}

REQUIRED_WORK(AGridOfTheShapeThatWasAskedForWhoseThreadsUseAtomics) {
  for (const auto& [blocks, threads] : {std::pair{4U, 64U},
                                        {1U, 1U},
                                        {1U, 7U},
                                        {1U, 256U},
                                        {7U, 1U},
                                        {40U, 40U},
                                        {40U, 41U},
                                        {300U, 64U}})
    for (const unsigned rounds : {1U, 3U}) {
      const auto done = work_of([&, blocks = blocks, threads = threads] {
        return count(blocks, threads, rounds).count == std::uint64_t{blocks} * threads * rounds;
      });
      EXPECT_TRUE(as_required(
          done, {.threads = blocks * threads, .blocks = blocks, .fetched = 4, .atomics = true}))
          << blocks << " blocks of " << threads << " threads, " << rounds << " rounds";
      for (const auto& k : done.kernels) {
        if (k.atomics == 0) continue;  // (it may set the counter to 0)
        EXPECT_EQ(k.blocks, blocks);
        EXPECT_EQ(k.threads_per_block, threads);
      }
    }
}

// --- slow motion ---------------------------------------------------------------------------------

TEST(Replay, GivesTheTwoTablesOfTheBook) {
  const std::vector<turn> one_after_the_other = {{0, kRead}, {0, kAdd}, {0, kWrite},
                                                 {1, kRead}, {1, kAdd}, {1, kWrite}};
  EXPECT_EQ(replay(one_after_the_other, 2, 7),
            (std::vector<moment>{{7, 7}, {7, 8}, {8, 8}, {8, 8}, {8, 9}, {9, 9}}));
  const std::vector<turn> interleaved = {{0, kRead}, {1, kRead},  {0, kAdd},
                                         {1, kAdd},  {0, kWrite}, {1, kWrite}};
  EXPECT_EQ(replay(interleaved, 2, 7),
            (std::vector<moment>{{7, 7}, {7, 7}, {7, 8}, {7, 8}, {8, 8}, {8, 8}}));
}

TEST(Replay, LosesAnIncrementInAllOrdersOfTwoThreadsButTwo) {
  const auto all = all_interleavings(2);
  ASSERT_EQ(all.size(), 20U);
  std::map<std::int32_t, int> how_often;
  for (const auto& turns : all) {
    EXPECT_TRUE(is_as_scheduled(turns, 2, 7));
    const auto moments = replay(turns, 2, 7);
    ASSERT_FALSE(moments.empty());
    ++how_often[moments.back().x];
  }
  EXPECT_EQ(how_often, (std::map<std::int32_t, int>{{8, 18}, {9, 2}}));
}

TEST(Replay, IsAsScheduledInAllOrdersOfThreeThreads) {
  const auto all = all_interleavings(3);
  ASSERT_EQ(all.size(), 1680U);
  int right = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    ASSERT_TRUE(is_as_scheduled(all[i], 3, -2)) << "order " << i;
    right += reference(all[i], 3, -2).back().x == 1 ? 1 : 0;
  }
  EXPECT_EQ(right, 6) << "one thread after the other, in each order of three";
}

class ReplayOf : public ::testing::TestWithParam<std::tuple<unsigned, std::size_t>> {};
// Threads around a warp and up to the largest block; few turns and many.
INSTANTIATE_TEST_SUITE_P(Turns, ReplayOf,
                         ::testing::Combine(::testing::Values(1, 2, 31, 32, 33, 257, 1024),
                                            ::testing::Values(1, 2, 33, 300)),
                         [](const auto& info) {
                           return "threads" + std::to_string(std::get<0>(info.param)) + "_turns" +
                                  std::to_string(std::get<1>(info.param));
                         });

TEST_P(ReplayOf, RandomTurnsIsAsScheduled) {
  const auto& [threads, turns] = GetParam();
  EXPECT_TRUE(is_as_scheduled(random_turns(turns, threads, threads + turns), threads, -5));
}

TEST(Replay, HasMoreTurnsThanSharedMemoryCanHold) {
  const std::size_t turns = 30'000;  // 240,000 bytes
  EXPECT_TRUE(is_as_scheduled(random_turns(turns, 3, 8), 3, 1));
}

TEST(Replay, CountsEveryThreadWhereAllTakeTurns) {
  std::vector<turn> turns;
  for (unsigned thread = kMostThreads; thread-- > 0;)
    for (const operation op : {kRead, kAdd, kWrite}) turns.push_back({thread, op});
  const auto moments = replay(turns, kMostThreads, 100);
  ASSERT_EQ(moments.size(), turns.size());
  EXPECT_EQ(moments.back().x, 100 + static_cast<int>(kMostThreads));
}

TEST(Replay, GoesBeyondTheLargestNumber) {
  constexpr auto kLargest = std::numeric_limits<std::int32_t>::max();
  EXPECT_TRUE(is_as_scheduled({{0, kRead}, {0, kAdd}, {0, kWrite}}, 1, kLargest));
}

TEST(Replay, OfNoTurnsIsEmpty) { EXPECT_TRUE(replay({}, 2, 7).empty()); }

TEST(Replay, RefusesThreadsThatAreNotThere) {
  const std::vector<turn> turns = {{0, kRead}, {2, kRead}};
  EXPECT_THROW(replay(turns, 2, 7), lab::invalid_input);
  EXPECT_NO_THROW(replay(turns, 3, 7));
  EXPECT_THROW(replay({}, 0, 7), lab::invalid_input);
  EXPECT_THROW(replay({}, kMostThreads + 1, 7), lab::invalid_input);
}

// --- full speed ----------------------------------------------------------------------------------

struct launch {
  unsigned blocks, threads, rounds;
};

class Count : public ::testing::TestWithParam<launch> {};
INSTANTIATE_TEST_SUITE_P(Launches, Count,
                         ::testing::Values(launch{1, 1, 1}, launch{1, 2, 1}, launch{2, 1, 1},
                                           launch{1, 31, 2}, launch{1, 32, 3}, launch{1, 33, 5},
                                           launch{1, 255, 1}, launch{1, 256, 7}, launch{1, 1024, 2},
                                           launch{17, 257, 3}, launch{1000, 1, 13},
                                           launch{101, 64, 10}, launch{1, 1, 65'537}),
                         [](const auto& info) {
                           return std::to_string(info.param.blocks) + "x" +
                                  std::to_string(info.param.threads) + "x" +
                                  std::to_string(info.param.rounds);
                         });

TEST_P(Count, LosesNothing) {
  const auto& [blocks, threads, rounds] = GetParam();
  const std::uint64_t expected = std::uint64_t{blocks} * threads * rounds;
  const std::uint64_t counted = count(blocks, threads, rounds).count;
  EXPECT_EQ(counted, expected) << "lost: " << static_cast<std::int64_t>(expected - counted)
                               << ". Which threads have read the same number?";
}

TEST(CountEverybody, IsNotLostIfOtherThreadsComeBetween) {
  // They have counted 1000 before a second atomic access, if the thread makes one.
  const lab::testing::detail::others_come_between meanwhile(std::uint64_t{0}, {0, 1000});
  const std::uint64_t counted = count(1, 1, 1).count;
  EXPECT_EQ(counted, meanwhile.came() < 2 ? 1U : 1001U);
}

TEST(CountEverybody, BeginsAtZeroEveryTime) {
  EXPECT_EQ(count(3, 40, 2).count, 240U);
  EXPECT_EQ(count(3, 40, 2).count, 240U);
  EXPECT_EQ(count(1, 1, 1).count, 1U);
}

TEST(CountEverybody, BeginsAtZeroWhenItsKernelIsRepeated) {
  // As a program repeats it to measure its time: with the counter of the previous launch.
  const lab::repeated_timing samples(3);
  EXPECT_EQ(count(3, 40, 2).count, 240U);
}

TEST(CountEverybody, IsZeroForNobody) {
  for (const launch& nobody : {launch{0, 32, 1}, launch{4, 0, 1}, launch{4, 32, 0}}) {
    const auto result = count(nobody.blocks, nobody.threads, nobody.rounds);
    EXPECT_EQ(result.count, 0U);
    EXPECT_EQ(result.kernel_ms, 0.0F) << "there is nothing to launch";
  }
}

TEST(CountEverybody, RefusesMoreThanTheDeviceCanLaunch) {
  EXPECT_THROW(count(1, 1025, 1), lab::invalid_input);
  EXPECT_THROW(count(0x8000'0000U, 1, 1), lab::invalid_input);
  // Nor where there is nothing to count.
  EXPECT_THROW(count(1, 1025, 0), lab::invalid_input);
  EXPECT_THROW(count(0, 1025, 1), lab::invalid_input);
  EXPECT_THROW(count(0x8000'0000U, 0, 1), lab::invalid_input);
  EXPECT_EQ(count(1, 1024, 1).count, 1024U) << "a later valid call must work";
}

TEST(CountEverybody, SaysHowLongItTook) {
  EXPECT_TRUE(is_time_of(timed::kernel, [&] { return count(10, 100, 1).kernel_ms; }));
}

FAULT_TEST(Replay, ReportsEveryCallThatFails) {
  const auto turns = random_turns(10, 2, 1);
  expect_failures_reported([&] { return replay(turns, 2, 7); });
}

FAULT_TEST(CountEverybody, ReportsEveryCallThatFails) {
  expect_failures_reported([] { return count(3, 33, 2).count; });
}

TEST(Count, IsThatOfTheProgramsThreads) {
  expect_at_full_size([] {
    return count(kDefaultBlocks, kDefaultThreads, kDefaultRounds).count ==
           std::uint64_t{kDefaultBlocks} * kDefaultThreads * kDefaultRounds;
  });
}

TEST(Count, GoesBeyondWhatAFloatCanCount) {
  expect_at_full_size([] { return count(17, 1023, 965).count == 17U * 1023 * 965; });  // over 2^24
}

}  // namespace
