// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "open_addressing.hpp"

#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "fault_tests.hpp"
#include "full_size.hpp"
#include "lab/closeness.hpp"
#include "lab/errors.hpp"
#include "lab/launch_limits.hpp"
#include "lab_testing.hpp"
#include "reference.hpp"
#include "required_work.hpp"
#include "steps.hpp"

namespace {

using lab::device_limit;
using lab::open_addressing::apply_batches;
using lab::open_addressing::batch;
using lab::open_addressing::different_numbers;
using lab::open_addressing::kDefaultLoad;
using lab::open_addressing::kDefaultSize;
using lab::open_addressing::kMostSlots;
using lab::open_addressing::kNone;
using lab::open_addressing::largest;
using lab::open_addressing::operation;
using lab::open_addressing::step;
using lab::open_addressing::to_be_found;
using lab::testing::at_other_sizes;
using lab::testing::expect_at_full_size;
using lab::testing::expect_failures_reported;
using lab::testing::is_time_of;
using lab::testing::setting;
using lab::testing::timed;
using lab::testing::work_of;
using lab::testing::work_without_values;
using numbers = std::vector<std::uint64_t>;

// A search that never ends makes the kernel run forever. The CPU device ends it; its default of 30
// seconds would be a long time for a student to wait.
const setting kTimeLimit("CPU_DEVICE_TIME_LIMIT", "10", setting::when::unless_given);

using named_step = lab::testing::named<step>;
constexpr named_step kSteps[] = {{step::packed, "packed"}, {step::wide, "wide"}};

constexpr std::size_t kSlotsOfAWindow = 4;

batch insert(const numbers& keys, const numbers& values) {
  return {operation::insert, keys, values};
}
batch find(const numbers& keys) { return {operation::find, keys, {}}; }
batch erase(const numbers& keys) { return {operation::erase, keys, {}}; }

::testing::AssertionResult finds_what_it_should(step version, std::size_t slots,
                                                const std::vector<batch>& batches) {
  const auto found = apply_batches(version, slots, batches).found;
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

void expect_full(step version, std::size_t slots, const std::vector<batch>& batches,
                 std::size_t lost) {
  try {
    apply_batches(version, slots, batches);
    FAIL() << "a table of " << slots << " slots took " << lost << " keys too many";
  } catch (const lab::invalid_input& error) {
    std::string message = error.what();
    EXPECT_NE(message.find("full"), std::string::npos) << message;
    for (char& c : message)
      if (std::isdigit(static_cast<unsigned char>(c)) == 0) c = ' ';
    EXPECT_NE((message + " ").find(" " + std::to_string(lost) + " "), std::string::npos)
        << error.what();
  }
}

numbers first_of(const numbers& all, std::size_t n) {
  return {all.begin(), all.begin() + static_cast<std::ptrdiff_t>(n)};
}
numbers after_first(const numbers& all, std::size_t n) {
  return {all.begin() + static_cast<std::ptrdiff_t>(n), all.end()};
}
numbers every_second(const numbers& all) {
  numbers chosen;
  for (std::size_t i = 0; i < all.size(); i += 2) chosen.push_back(all[i]);
  return chosen;
}

using EachStep = lab::testing::each_step<named_step>;
INSTANTIATE_TEST_SUITE_P(Steps, EachStep, ::testing::ValuesIn(kSteps), lab::testing::by_step);

// --- who does the work ---------------------------------------------------------------------------

REQUIRED_WORK(KernelsThatInsertFindAndErase) {
  constexpr std::size_t kKeys = 2003;
  for (const auto& [version, name] : kSteps) {
    const numbers keys = different_numbers(version, kKeys, 1),
                  values = different_numbers(version, kKeys, 2);
    const std::size_t bytes = kKeys * (version == step::packed ? 4 : 8);
    const lab::testing::work done = work_of([&, version = version] {
      return finds_what_it_should(version, 2 * kKeys,
                                  {insert(keys, values), find(keys), erase(keys), find(keys)});
    });
    // Half of all slots are empty: two windows per key would be enough, even with copies of them.
    EXPECT_TRUE(as_required(done, {.threads = 512,
                                   .blocks = 2,
                                   .kernels = 4,
                                   .sent = 5 * bytes,
                                   .fetched = 2 * bytes,
                                   .reads = 5 * bytes,
                                   .writes = 4 * bytes,
                                   .reads_at_most = 4 * (2 + 2 * 2 * kSlotsOfAWindow) * bytes,
                                   .atomics = true}))
        << name;
    EXPECT_TRUE(at_other_sizes([version = version](std::size_t n) {
      const numbers some = different_numbers(version, n + 1, 1);
      return finds_what_it_should(version, 2 * n + 10, {insert(some, some), find(some)});
    })) << name;
  }
}

REQUIRED_WORK(ThreadsThatShareAFewKeys) {
  for (const auto& [version, name] : kSteps)
    for (const std::size_t few : {2, 24, 300}) {
      const numbers keys = different_numbers(version, few, 1);
      const batch batches[] = {insert(keys, keys), find(keys), erase(keys)};
      for (std::size_t n = 1; n <= 3; ++n) {
        const auto done = work_without_values([&, version = version] {
          (void)apply_batches(version, 2 * few + 50, std::span(batches).first(n));
        });
        EXPECT_TRUE(as_required(done, {.kernels = n})) << name;
        if (!done.watched || done.kernels.empty()) continue;
        EXPECT_GE(done.kernels.back().threads, std::max<std::size_t>(2, few / 4))
            << name << ": too few threads have all " << few << " keys of batch " << n;
      }
    }
}

REQUIRED_WORK(OneWordForEachSlotOfStepPacked) {
  // With so few keys the table is nearly all of the memory. (A last batch that changes it may be
  // timed with a copy; one of searches needs none.)
  constexpr std::size_t kSlots = 20'000;
  const numbers keys = different_numbers(step::packed, 100, 1);
  const auto done = work_without_values([&] {
    (void)apply_batches(step::packed, kSlots, std::vector<batch>{insert(keys, keys), find(keys)});
  });
  std::size_t allocated = 0;
  for (const auto& memory : {done.device_memory, done.host_memory})
    for (const std::size_t bytes : memory) allocated += bytes;
  EXPECT_LT(allocated, 2 * kSlots * sizeof(std::uint64_t))
      << "packed: a slot has more than one word of 64 bits";
}

REQUIRED_WORK(InsertionsWithoutLocks) {
  for (const auto& [version, name] : kSteps)
    for (const std::size_t n : {1, 40, 501, 4000}) {
      const numbers keys = different_numbers(version, n, 1);
      const auto done = work_of([&, version = version] {
        return finds_what_it_should(version, 2 * n, {insert(keys, keys), erase(keys), find(keys)});
      });
      EXPECT_TRUE(as_required(done, {.threads = 1, .kernels = 3, .atomics = true}))
          << name << ": " << n << " keys";
      for (const auto& kernel : done.kernels)  // what only stores may have emptied the table
        EXPECT_TRUE(kernel.writes == kernel.plain_writes || kernel.plain_writes == 0)
            << name << ": slots are changed by plain stores, as behind a lock";
      const auto cost = done.costs.find("global atomic");
      EXPECT_TRUE(cost == done.costs.end() || cost->second.turns < 2 * cost->second.requests)
          << name << ": the threads of a warp wait for each other at one word, as at a lock";
    }
}

REQUIRED_WORK(SearchesThatSoonEndInATableThatIsNearlyFull) {
  // 95 % of all slots have keys. With double hashing, the search for a key that is not there reads
  // about 8 windows; with the neighbouring window as the next one, about 50.
  for (const auto& [version, name] : kSteps)
    for (const std::size_t n : {1009, 5003, 70'001}) {
      // (In the large table some searches are enough.)
      const std::size_t others = std::min<std::size_t>(n, 5003);
      const numbers keys = different_numbers(version, n + others, 3), present = first_of(keys, n),
                    absent = after_first(keys, n);
      const std::size_t slot_bytes = version == step::packed ? 8 : 16;
      const lab::testing::work done = work_of([&, version = version] {
        return finds_what_it_should(version, n * 100 / 95,
                                    {insert(present, present), find(absent)});
      });
      EXPECT_TRUE(as_required(done, {.kernels = 2, .reads_at_most = 80 * n * slot_bytes}))
          << name << ": " << n << " keys";
      if (!done.watched || done.kernels.empty()) continue;
      EXPECT_LE(done.kernels.back().reads, 80 * others * slot_bytes)
          << name << ": searches for others than the " << n << " keys read too many slots";
    }
}

// --- every step, at every size and load ----------------------------------------------------------

/// Number of keys, and how many of 100 slots they take.
class Loads : public ::testing::TestWithParam<std::tuple<named_step, std::size_t, std::size_t>> {};

// Around a window (4), a warp and a block; a prime. At 100 % the last keys have to visit
// everything.
INSTANTIATE_TEST_SUITE_P(Steps, Loads,
                         ::testing::Combine(::testing::ValuesIn(kSteps),
                                            ::testing::Values(1, 3, 4, 5, 31, 32, 33, 255, 256, 257,
                                                              2003),
                                            ::testing::Values(25, 50, 75, 95, 100)),
                         [](const auto& info) {
                           return std::string(std::get<0>(info.param).name) + "_n" +
                                  std::to_string(std::get<1>(info.param)) + "_load" +
                                  std::to_string(std::get<2>(info.param));
                         });

TEST_P(Loads, FindsWhatIsThereAndNothingElse) {
  const auto [version, n, load] = GetParam();
  const std::size_t slots = (n * 100 + load - 1) / load;
  // Fewer keys that are not there: without an empty slot, each search for one visits everything.
  const numbers keys = different_numbers(version.value, n + n / 8 + 1, n),
                present = first_of(keys, n), values = different_numbers(version.value, n, load);
  EXPECT_TRUE(finds_what_it_should(
      version.value, slots,
      {find(present), insert(present, values), find(keys), erase(every_second(present)), find(keys),
       erase(present), find(present)}));
}

TEST_P(EachStep, HasRoomForAsManyKeysAsItHasSlots) {
  // Whatever the number of windows is, the probes of each key wrap around the end of the table.
  for (std::size_t slots = 1; slots <= 100; ++slots) {
    const numbers keys = different_numbers(version(), slots, slots);
    EXPECT_TRUE(finds_what_it_should(version(), slots, {insert(keys, keys), find(keys)})) << slots;
  }
}

TEST_P(EachStep, HoldsMoreKeysThanTheDeviceRunsThreads) {
  const std::size_t n = device_limit(cudaDevAttrMultiProcessorCount) *
                            device_limit(cudaDevAttrMaxThreadsPerMultiProcessor) +
                        45;
  const numbers keys = different_numbers(version(), n, 21),
                values = different_numbers(version(), n, 2);
  EXPECT_TRUE(finds_what_it_should(version(), 2 * n,
                                   {insert(keys, values), find(keys), erase(keys), find(keys)}));
}

TEST_P(EachStep, TakesKeysThatFollowAPattern) {
  const std::uint64_t upper_half = version() == step::packed ? 16 : 32;
  numbers neighbours(1000), multiples(1000);
  for (std::size_t i = 0; i < neighbours.size(); ++i) {
    neighbours[i] = i;
    multiples[i] = std::uint64_t{i} << upper_half;
  }
  for (const numbers& keys : {neighbours, multiples})
    EXPECT_TRUE(finds_what_it_should(version(), 1100, {insert(keys, neighbours), find(keys)}));
}

TEST_P(EachStep, TakesTheSmallestAndTheLargestKeysAndValues) {
  const std::uint64_t most = largest(version()), high_bit = most / 2 + 1;
  const numbers keys{0, most, 1, high_bit}, values{most, 0, high_bit, 1};
  EXPECT_TRUE(
      finds_what_it_should(version(), 8, {insert(keys, values), find(keys), find({2, most - 1})}));
  EXPECT_TRUE(finds_what_it_should(version(), 8, {insert({0}, {0}), find({0, 1})}));
  EXPECT_TRUE(finds_what_it_should(version(), 8, {insert({most}, {most}), find({most, 0})}));
}

TEST(Wide, TellsKeysApartThatDifferInTheUpperHalfAlone) {
  numbers keys(300), values(300);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    keys[i] = std::uint64_t{i} << 32 | 7;
    values[i] = std::uint64_t{i} << 40 | i;
  }
  EXPECT_TRUE(finds_what_it_should(
      step::wide, 300, {insert(keys, values), find(keys), erase(every_second(keys)), find(keys)}));
}

// --- the same key more than once -----------------------------------------------------------------

TEST_P(EachStep, KeepsTheSmallestValueOfAKeyThatComesOften) {
  const numbers values = different_numbers(version(), 1000, 3);
  // One key; all copies of a key in a warp; in different blocks.
  numbers in_warp(values.size()), in_blocks(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    in_warp[i] = i / 32;
    in_blocks[i] = i % 250;
  }
  for (const numbers& keys : {numbers(values.size(), 77), in_warp, in_blocks}) {
    // In a table that just holds them, no key may have two slots. A key with two is still there
    // after it has been erased.
    const std::size_t different = keys[0] == 77 ? 1 : *std::ranges::max_element(keys) + 1;
    EXPECT_TRUE(finds_what_it_should(version(), different,
                                     {insert(keys, values), find(keys), erase(keys), find(keys)}));
  }
}

TEST_P(EachStep, KeepsTheSmallestValueThoughOtherThreadsComeBetween) {
  // Whenever a thread has looked at the value of its key, another thread has a smaller one.
  constexpr std::uint64_t kKey = 77, kFirst = 1'000'003, kSecond = 50'021;
  const numbers others{900'007, 20'011, 3};
  const auto word_of = [&](std::uint64_t value) {
    return version() == step::packed ? kKey << 32 | value : value;
  };
  for (std::size_t n = 0; n <= others.size(); ++n) {
    std::vector<std::uint64_t> words;
    for (const std::uint64_t value : first_of(others, n)) words.push_back(word_of(value));
    const std::vector<batch> batches{insert({kKey}, {kFirst}), insert({kKey}, {kSecond}),
                                     find({kKey})};
    const lab::testing::detail::others_come_between meanwhile(word_of(kFirst), words);
    const auto found = apply_batches(version(), 8, batches).found;
    const numbers came = first_of(others, meanwhile.came());
    EXPECT_EQ(found[2], numbers{std::min(kSecond, came.empty() ? kFirst : came.back())})
        << came.size() << " came between";
  }
}

TEST_P(EachStep, GivesTheLastSlotToAKeyThatComesOften) {
  // Many threads come to the only empty slot, after a long search, with the same key.
  const numbers keys = different_numbers(version(), 4 * 37, 9), last(200, keys.back());
  const numbers all_but_one = first_of(keys, keys.size() - 1);
  EXPECT_TRUE(finds_what_it_should(
      version(), keys.size(),
      {insert(all_but_one, all_but_one), insert(last, different_numbers(version(), last.size(), 1)),
       find(keys)}));
}

TEST_P(EachStep, KeepsTheSmallerValueOfTwoBatches) {
  const numbers keys = different_numbers(version(), 500, 4),
                values = different_numbers(version(), 500, 5);
  EXPECT_TRUE(finds_what_it_should(
      version(), 500,
      {insert(keys, values), insert(keys, different_numbers(version(), 500, 6)), find(keys),
       insert(keys, numbers(500, largest(version()))), find(keys), insert(keys, numbers(500, 0)),
       find(keys)}));
}

// --- tombstones ----------------------------------------------------------------------------------

TEST_P(EachStep, FindsKeysThatStandBehindErasedOnes) {
  // No slot is empty, so the searches of many keys begin at a window that is full of others.
  for (const std::size_t n : {28, 28 * 37}) {
    const numbers keys = different_numbers(version(), n, n);
    EXPECT_TRUE(finds_what_it_should(
        version(), n, {insert(keys, keys), erase(first_of(keys, n / 2)), find(keys)}));
  }
}

TEST_P(EachStep, HoldsAKeyOnceThoughSlotsBeforeItAreErased) {
  const numbers keys = different_numbers(version(), 28, 2), rest = after_first(keys, 14),
                values = different_numbers(version(), 14, 1);
  EXPECT_TRUE(finds_what_it_should(version(), 28,
                                   {insert(keys, keys), erase(first_of(keys, 14)),
                                    insert(rest, values), find(keys), erase(rest), find(keys)}));
}

TEST_P(EachStep, ForgetsTheValueOfAnErasedKey) {
  const numbers keys = different_numbers(version(), 100, 3);
  EXPECT_TRUE(finds_what_it_should(version(), 300,
                                   {insert(keys, numbers(100, 4)), erase(keys), find(keys),
                                    insert(keys, numbers(100, 9)), find(keys)}));
}

TEST_P(EachStep, GivesAnErasedKeyItsSlotAgain) {
  // There is no other slot.
  const numbers keys = different_numbers(version(), 28, 8);
  std::vector<batch> batches;
  for (std::uint64_t round = 0; round < 3; ++round) {
    batches.push_back(insert(keys, numbers(28, 10 + round)));
    batches.push_back(find(keys));
    batches.push_back(erase(keys));
    batches.push_back(find(keys));
  }
  EXPECT_TRUE(finds_what_it_should(version(), 28, batches));
}

TEST_P(EachStep, PassesOverKeysToEraseThatAreNotThere) {
  const numbers keys = different_numbers(version(), 200, 5), present = first_of(keys, 100);
  EXPECT_TRUE(finds_what_it_should(
      version(), 300,
      {erase(keys), insert(present, present), erase(after_first(keys, 100)), find(keys)}));
  const numbers often(300, keys[0]);
  EXPECT_TRUE(finds_what_it_should(version(), 300, {insert(keys, keys), erase(often), find(keys)}));
}

// --- nothing, too much, wrong --------------------------------------------------------------------

TEST_P(EachStep, AppliesNothingToNothing) {
  EXPECT_TRUE(apply_batches(version(), 1, {}).found.empty());
  EXPECT_TRUE(finds_what_it_should(version(), 1, {insert({}, {}), find({}), erase({}), find({5})}));
}

TEST_P(EachStep, BeginsWithAnEmptyTableEachTime) {
  const numbers keys = different_numbers(version(), 300, 6);
  EXPECT_TRUE(finds_what_it_should(version(), 600, {insert(keys, keys), find(keys)}));
  EXPECT_TRUE(finds_what_it_should(version(), 600, {find(keys)}));
}

TEST_P(EachStep, RefusesKeysThatFindNoSlot) {
  // A prime number of windows, so that there are exactly so many slots.
  for (const std::size_t slots : {kSlotsOfAWindow, kSlotsOfAWindow * 7}) {
    // (Of the numbers in the message, no other one is how many found none.)
    const numbers keys = different_numbers(version(), 2 * slots + 1, 7),
                  fit = first_of(keys, slots), one_more{keys.back()},
                  some = first_of(keys, slots / 2), others = after_first(keys, slots);
    // As many keys as slots, and a key that is there already, are no problem.
    EXPECT_TRUE(
        finds_what_it_should(version(), slots, {insert(fit, fit), insert(fit, fit), find(keys)}));
    expect_full(version(), slots, {insert(keys, keys)}, slots + 1);
    expect_full(version(), slots, {insert(fit, fit), insert(one_more, {1}), find(fit)}, 1);
    expect_full(version(), slots, {insert(fit, fit), erase(fit), insert(one_more, {1})}, 1);
    // Tombstones next to empty slots are none of these.
    expect_full(version(), slots, {insert(some, some), erase(some), insert(others, others)},
                slots / 2 + 1);
  }
}

TEST_P(EachStep, CountsKeysWithoutASlotInAllBlocks) {
  const numbers keys = different_numbers(version(), 1000, 10);
  expect_full(version(), kSlotsOfAWindow, {insert(keys, keys)}, keys.size() - kSlotsOfAWindow);
}

TEST_P(EachStep, RefusesWhatCannotBeAKeyOrAValue) {
  const auto expect_refused = [&](const batch& b) {
    EXPECT_THROW(apply_batches(version(), 8, std::vector<batch>{insert({1}, {1}), b}),
                 lab::invalid_input);
  };
  for (const std::uint64_t number : {largest(version()) + 1, kNone}) {
    expect_refused(insert({1, number}, {1, 2}));
    expect_refused(insert({1, 2}, {1, number}));
    expect_refused(find({number}));
    expect_refused(erase({number, 1}));
  }
}

TEST_P(EachStep, RefusesAWrongNumberOfValues) {
  for (const batch& wrong :
       {batch{operation::insert, {1, 2}, {1}}, batch{operation::insert, {1}, {1, 2}},
        batch{operation::find, {1}, {1}}, batch{operation::erase, {1}, {1}}})
    EXPECT_THROW(apply_batches(version(), 8, std::vector<batch>{wrong}), lab::invalid_input);
}

TEST_P(EachStep, RefusesATableWithoutSlotsOrWithTooMany) {
  EXPECT_THROW(apply_batches(version(), 0, {}), lab::invalid_input);
  EXPECT_THROW(apply_batches(version(), kMostSlots + 1, {}), lab::invalid_input);
}

TEST_P(EachStep, SaysHowLongTheLastBatchTook) {
  const numbers keys = different_numbers(version(), 2000, 1);
  const std::vector<batch> batches{insert(keys, keys), find(keys), erase(keys)};
  for (std::size_t n = 1; n <= batches.size(); ++n) {
    EXPECT_TRUE(is_time_of(timed::kernel, [&] {
      return apply_batches(version(), 4000, std::span(batches).first(n)).kernel_ms;
    }));
  }
}

FAULT_TEST_P(EachStep, ReportsEveryCallThatFails) {
  const numbers keys = different_numbers(version(), 100, 1);
  // The last batch is measured; if it is empty, the kernel before it must not be.
  for (const std::vector<batch>& batches :
       {std::vector{insert(keys, keys), erase(every_second(keys)), find(keys)},
        std::vector{insert(keys, keys)}, std::vector{insert(keys, keys), find(keys), find({})}})
    expect_failures_reported([&] { return finds_what_it_should(version(), 200, batches); }, keys);
}

TEST_P(EachStep, HoldsTheProgramsKeys) {
  expect_at_full_size([&] {
    const numbers keys = different_numbers(version(), 2 * kDefaultSize, 1);
    const numbers present = first_of(keys, kDefaultSize);
    return finds_what_it_should(version(), static_cast<std::size_t>(kDefaultSize / kDefaultLoad),
                                {insert(present, different_numbers(version(), kDefaultSize, 2)),
                                 find(keys), erase(every_second(present)), find(present)});
  });
  // A full one: the last keys have to probe nearly everything. (A prime number of windows, so that
  // there are no more slots than keys.)
  expect_at_full_size([&] {
    const numbers keys = different_numbers(version(), 16'411 * kSlotsOfAWindow, 3);
    return finds_what_it_should(version(), keys.size(), {insert(keys, keys), find(keys)});
  });
}

}  // namespace
