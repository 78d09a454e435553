// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// What every sorting network must do: the tests that 14.1 and 14.2 have in common. The file that
// includes this one has said before which network it is, as `namespace network = lab::…;`, has
// listed its steps, as kSteps, and says of each what it sorts in a single launch, as tile_of(step):
// arrays of which length, with how many barriers at most. Blocks of the step shared_tiles have 512
// threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "fault_tests.hpp"
#include "full_size.hpp"
#include "key_tests.hpp"
#include "lab/errors.hpp"
#include "lab/key_value.hpp"
#include "lab_testing.hpp"
#include "required_work.hpp"
#include "steps.hpp"

namespace {

using lab::batch;
using lab::check_sorted;
using lab::direction;
using lab::key_values;
using lab::make_key_values;
using lab::testing::at_other_sizes;
using lab::testing::bytes_of;
using lab::testing::is_time_of;
using lab::testing::matches;
using lab::testing::timed;
using lab::testing::work_of;
using network::sort;
using network::step;

constexpr direction kDirections[] = {direction::ascending, direction::descending};

::testing::AssertionResult sorts(step version, const key_values& input, batch arrays,
                                 direction order = direction::ascending) {
  return matches(check_sorted(sort(version, input.keys, input.values, arrays, order).sorted, input,
                              arrays, order));
}

// --- who does the work ---------------------------------------------------------------------------

REQUIRED_WORK(KernelsThatSortTilesInSharedMemory) {
  const key_values input = make_key_values(16384, 1);
  for (const auto& [version, name] : kSteps) {
    EXPECT_TRUE(as_required(work_of([&, version = version] {
                              return sorts(version, input, {2, 8192});
                            }),
                            {.threads = 512,
                             .blocks = 4,
                             .kernels = 2,
                             .sent = 2 * bytes_of(input.keys),
                             .fetched = 2 * bytes_of(input.keys),
                             .reads = 2 * 2 * bytes_of(input.keys),
                             .writes = 2 * 2 * bytes_of(input.keys),
                             .shared_memory = true}))
        << name;
    EXPECT_TRUE(at_other_sizes([version = version](std::size_t n) {
      return sorts(version, make_key_values(16 * n, 1), {n, 16});
    })) << name;
  }
}

REQUIRED_WORK(TilesThatAreSortedByTheirThreadsInOneLaunch) {
  for (const auto& [version, name] : kSteps)
    for (const bool pairs : {true, false}) {
      const auto [length, barriers] = tile_of(version);
      key_values input = make_key_values(16384, 1);
      if (!pairs) input.values.clear();
      const std::size_t bytes = bytes_of(input.keys) + bytes_of(input.values);
      const lab::testing::work done = work_of([&, version = version, length = length] {
        return sorts(version, input, {16384 / length, length});
      });
      EXPECT_TRUE(as_required(done, {.threads = 1024,
                                     .blocks = 4,
                                     .barriers = barriers,
                                     .reads = bytes,
                                     .writes = bytes,
                                     .reads_at_most = bytes,
                                     .shared_memory = true}))
          << name << (pairs ? ", pairs" : ", keys alone");
      EXPECT_LE(done.kernels.size(), 1U) << name;
      for (const auto& k : done.kernels) {
        if (version == step::shared_tiles) {
          EXPECT_EQ(k.threads_per_block, 512U) << name;
        }
        if (done.watched) {
          EXPECT_LT(8 * k.shared_of_busiest, k.shared) << name << ": one thread sorts the tile";
        }
      }
    }
}

REQUIRED_WORK(AsManyLaunchesAsAreClaimed) {
  const auto input = make_key_values(16384, 12);
  for (const auto& [version, name] : kSteps) {
    unsigned claimed = 0;
    const lab::testing::work done = work_of([&, version = version] {
      const auto done_so = sort(version, input.keys, input.values, {1, 16384});
      claimed = done_so.launches;
      return matches(check_sorted(done_so.sorted, input, {1, 16384}, direction::ascending));
    });
    EXPECT_EQ(done.kernels.size(), claimed) << name;
    for (const auto& k : done.kernels)
      if (version == step::shared_tiles) {
        EXPECT_EQ(k.threads_per_block, 512U) << name;
      }
  }
}

REQUIRED_WORK(KernelsForWhatIsInOrderAlready) {
  // A network makes the same comparisons whatever the keys are.
  key_values rising = make_key_values(4096, 2);
  for (std::size_t i = 0; i < 4096; ++i) rising.keys[i] = static_cast<std::uint32_t>(3 * i);
  const key_values equal = make_key_values(4096, 2, 0);
  for (const auto& [version, name] : kSteps)
    for (const key_values& input : {rising, equal})
      for (const std::size_t length : {std::size_t{64}, std::size_t{4096}})
        EXPECT_TRUE(as_required(work_of([&, version = version] {
                                  return sorts(version, input, {4096 / length, length});
                                }),
                                {.threads = 128, .fetched = 2 * bytes_of(input.keys)}))
            << name << ", " << 4096 / length << " arrays of " << length;
}

REQUIRED_WORK(BlocksOf512ThreadsForFewElements) {
  const std::string name = "shared_tiles";
  for (const batch arrays : {batch{1, 2}, batch{3, 16}, batch{1, 512}}) {
    const key_values input = make_key_values(arrays.count * arrays.length, 14);
    const lab::testing::work done =
        work_of([&] { return sorts(step::shared_tiles, input, arrays); });
    EXPECT_TRUE(as_required(done, {.threads = 1, .fetched = bytes_of(input.keys)})) << name;
    for (const auto& k : done.kernels)
      EXPECT_EQ(k.threads_per_block, 512U) << name << ", arrays of " << arrays.length;
  }
}

REQUIRED_WORK(KernelsThatSortInBothDirections) {
  // If the bytes are the same for both directions, the host has reversed the arrays. If one of them
  // takes more launches, kernels have: they reverse the arrays, or change the keys and back.
  const key_values input = make_key_values(16384, 13);
  for (const auto& [version, name] : kSteps)
    for (const std::size_t length : {std::size_t{64}, std::size_t{8192}}) {
      std::vector<std::multiset<std::uint64_t>> came_back;
      std::vector<std::size_t> launches;
      for (const direction order : kDirections) {
        const lab::testing::work done = work_of([&, version = version] {
          return sorts(version, input, {16384 / length, length}, order);
        });
        EXPECT_TRUE(as_required(done, {.threads = 512, .blocks = 4})) << name;
        came_back.push_back(done.came_back());
        launches.push_back(done.kernels.size());
      }
      EXPECT_EQ(launches[0], launches[1])
          << name << ": a comparator can sort in either direction; arrays of " << length;
      if (came_back[0].empty()) continue;  // the arrays are where both sides reach them
      EXPECT_NE(came_back[0], came_back[1])
          << name << ": the device returns the same for both directions, for arrays of " << length;
    }
}

// --- every step, every length, both directions ---------------------------------------------------

class Sort : public ::testing::TestWithParam<std::tuple<named_step, batch>> {};

// Arrays in a register group (16), in a warp (32, 64), around the tiles (1024, 4096), of several
// windows; one array and batches that fill no tile, one tile, a tile and a bit.
INSTANTIATE_TEST_SUITE_P(
    Steps, Sort,
    ::testing::Combine(::testing::ValuesIn(kSteps),
                       ::testing::Values(batch{0, 1}, batch{0, 64}, batch{1, 1}, batch{5, 1},
                                         batch{1, 2}, batch{3, 2}, batch{513, 2}, batch{7, 4},
                                         batch{5, 8}, batch{1, 16}, batch{3, 16}, batch{65, 16},
                                         batch{1, 32}, batch{33, 32}, batch{1, 64}, batch{65, 64},
                                         batch{3, 128}, batch{17, 256}, batch{1, 512},
                                         batch{3, 512}, batch{1, 1024}, batch{5, 1024},
                                         batch{1, 2048}, batch{3, 2048}, batch{1, 4096},
                                         batch{3, 4096}, batch{1, 8192}, batch{3, 8192},
                                         batch{1, 16384})),
    [](const auto& info) {
      const batch arrays = std::get<1>(info.param);
      return std::string(std::get<0>(info.param).name) + "_" + std::to_string(arrays.count) +
             "_of_" + std::to_string(arrays.length);
    });

TEST_P(Sort, SortsEachArrayByItself) {
  const auto& [version, arrays] = GetParam();
  const std::size_t n = arrays.count * arrays.length;
  for (const direction order : kDirections)
    EXPECT_TRUE(sorts(version.value, make_key_values(n, n + 1), arrays, order));
}

using EachStep = lab::testing::each_step<named_step>;
INSTANTIATE_TEST_SUITE_P(Steps, EachStep, ::testing::ValuesIn(kSteps), lab::testing::by_step);

TEST_P(EachStep, SortsArraysWithManyStagesBeyondATile) {
  // 2^17: in registers, two launches of four stages for the highest level; in columns and windows,
  // columns of 128 rows, and windows at both ends of a run, and between.
  constexpr std::size_t kLong = std::size_t{1} << 17;
  EXPECT_TRUE(sorts(version(), make_key_values(kLong, 1), {1, kLong}));
}

TEST_P(EachStep, SortsTheLengthsOfTheReport) {
  // 64 … 65536, in batches of 65536 elements in all; the longer ones are the same code.
  constexpr std::size_t kAll = std::size_t{1} << 16;
  for (const std::size_t length : {64U, 512U, 1024U, 4096U, 16384U, 65536U})
    EXPECT_TRUE(sorts(version(), make_key_values(kAll, length), {kAll / length, length}));
}

TEST_P(EachStep, SortsMoreThanAMillionKeys) {
  // More than 2^20, for grids of more than 1024 blocks, in arrays that are longer than a tile.
  lab::testing::expect_at_full_size([&] {
    const std::size_t length = version() == step::shared_tiles ? 2048 : 8192;
    const batch arrays{(std::size_t{1} << 20) / length + 1, length};
    key_values input = make_key_values(arrays.count * arrays.length, 16);
    input.values.clear();
    return sorts(version(), input, arrays);
  });
}

// --- keys ----------------------------------------------------------------------------------------

TEST_P(EachStep, KeepsPairsTogetherWhereManyKeysAreEqual) {
  // Values tell pairs with equal keys apart: none may be there twice, none may be gone.
  for (const std::uint32_t highest : {0U, 1U, 2U, 40U})
    for (const direction order : kDirections) {
      EXPECT_TRUE(sorts(version(), make_key_values(5 * 2048, highest, highest), {5, 2048}, order));
      EXPECT_TRUE(sorts(version(), make_key_values(8192, highest, highest), {1, 8192}, order));
    }
}

TEST_P(EachStep, SortsKeysAndValuesAtTheEndsOfTheirRange) {
  // Keys are unsigned: 0xFFFFFFFF is the largest one, not -1, and does not mark an empty element.
  for (const direction order : kDirections)
    for (const batch arrays :
         {batch{1, 1}, batch{65, 16}, batch{4, 64}, batch{3, 2048}, batch{1, 8192}})
      EXPECT_TRUE(sorts(version(), lab::testing::awkward_pairs(arrays.count * arrays.length, 4),
                        arrays, order));
}

TEST_P(EachStep, SortsWhatIsSortedOrReversedAlready) {
  key_values input = make_key_values(4096, 0);
  for (std::size_t i = 0; i < 4096; ++i) input.keys[i] = static_cast<std::uint32_t>(3 * i);
  for (const direction order : kDirections)
    for (const std::size_t length : {64U, 4096U})
      EXPECT_TRUE(sorts(version(), input, {4096 / length, length}, order));
}

TEST_P(EachStep, SortsEveryPatternOfTwoKeys) {
  // A network of comparators that sorts all patterns of 0 and 1 sorts everything: here all 65 536
  // patterns of 16 elements, an array each.
  key_values input{std::vector<std::uint32_t>(std::size_t{16} << 16), {}};
  for (std::size_t i = 0; i < input.keys.size(); ++i)
    input.keys[i] = static_cast<std::uint32_t>(i / 16 >> i % 16 & 1);
  EXPECT_TRUE(sorts(version(), input, {std::size_t{1} << 16, 16}));
}

TEST_P(EachStep, LaunchesNothingForArraysOfOneElement) {
  const auto input = make_key_values(5, 11);
  EXPECT_EQ(sort(version(), input.keys, input.values, {5, 1}).launches, 0U);
}

TEST_P(EachStep, SortsKeysWithoutValues) {
  for (const batch arrays : {batch{3, 64}, batch{1, 2048}, batch{1, 16384}})
    for (const direction order : kDirections) {
      key_values input = make_key_values(arrays.count * arrays.length, 6);
      input.values.clear();
      EXPECT_TRUE(sorts(version(), input, arrays, order));
    }
}

using EachSeed = lab::testing::each_step_and<named_step>;
INSTANTIATE_TEST_SUITE_P(Steps, EachSeed,
                         ::testing::Combine(::testing::ValuesIn(kSteps),
                                            ::testing::Values(1, 2, 3)),
                         lab::testing::by_step_and{"_seed"});

TEST_P(EachSeed, SortsRandomKeys) {
  const auto& [version, seed] = GetParam();
  EXPECT_TRUE(sorts(version.value, make_key_values(7 * 512, seed, 1000), {7, 512}));
}

// --- refusals ------------------------------------------------------------------------------------

TEST_P(EachStep, RefusesLengthsThatAreNoPowerOfTwoAndSaysSo) {
  for (const std::size_t length : {0U, 3U, 48U, 63U, 65U, 1000U}) {
    const auto input = make_key_values(length, 1);
    try {
      sort(version(), input.keys, input.values, {1, length});
      FAIL() << "a length of " << length << " was not refused";
    } catch (const lab::invalid_input& error) {
      EXPECT_NE(std::string(error.what()).find("power of two"), std::string::npos) << error.what();
    }
  }
}

TEST_P(EachStep, RefusesInputOfAnotherLength) {
  const auto input = make_key_values(128, 1);
  const std::vector<std::uint32_t> one_less(127);
  EXPECT_THROW(sort(version(), input.keys, input.values, {1, 64}), lab::invalid_input);
  EXPECT_THROW(sort(version(), input.keys, input.values, {3, 64}), lab::invalid_input);
  EXPECT_THROW(sort(version(), input.keys, one_less, {2, 64}), lab::invalid_input);
  EXPECT_THROW(sort(version(), {}, input.values, {0, 64}), lab::invalid_input);
  EXPECT_TRUE(sorts(version(), input, {2, 64}));  // and it works again
}

TEST_P(EachStep, RefusesMoreElementsThanCanBeCounted) {
  // 2^63 arrays of 2 are 2^64 elements, which wraps around to 0.
  EXPECT_THROW(sort(version(), {}, {}, {std::size_t{1} << 63, 2}), lab::invalid_input);
  EXPECT_THROW(sort(version(), {}, {}, {0, std::size_t{1} << 32}), lab::invalid_input);
}

// --- what comes with the result ------------------------------------------------------------------

TEST_P(EachStep, LeavesItsInputAlone) {
  const auto input = make_key_values(2048, 7);
  const key_values given = input;
  sort(version(), given.keys, given.values, {2, 1024});
  EXPECT_EQ(given.keys, input.keys);
  EXPECT_EQ(given.values, input.values);
}

TEST_P(EachStep, CountsItsLaunchesAndTakesItsTime) {
  const auto input = make_key_values(16384, 8);
  const auto sorted = [&] { return sort(version(), input.keys, input.values, {1, 16384}); };
  EXPECT_GT(sorted().launches, 1U);
  EXPECT_TRUE(is_time_of(timed::kernels, [&] { return sorted().kernel_ms; }));
  EXPECT_EQ(sort(version(), input.keys, input.values, {16384 / 64, 64}).launches, 1U);
}

FAULT_TEST_P(EachStep, ReportsEveryCallThatFails) {
  const key_values input = make_key_values(2 * 2048, 1);
  lab::testing::expect_failures_reported(
      [&] {
        return sorts(version(), input, {2, 2048});
      },
      input.keys, input.values);
}

}  // namespace
