// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "monte_carlo_pi.hpp"

#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "fault_tests.hpp"
#include "few_blocks.hpp"
#include "full_size.hpp"
#include "lab/cuda_check.hpp"
#include "lab/device_limits.hpp"
#include "lab/errors.hpp"
#include "lab/time_kernel.hpp"
#include "lab_testing.hpp"
#include "reference.hpp"
#include "required_work.hpp"
#include "steps.hpp"

namespace {

using lab::monte_carlo_pi::claimed_atomics;
using lab::monte_carlo_pi::count_hits;
using lab::monte_carlo_pi::draw;
using lab::monte_carlo_pi::estimate;
using lab::monte_carlo_pi::grid;
using lab::monte_carlo_pi::kDefaultPoints;
using lab::monte_carlo_pi::kFirst;
using lab::monte_carlo_pi::kGamma;
using lab::monte_carlo_pi::kMostPoints;
using lab::monte_carlo_pi::kSecond;
using lab::monte_carlo_pi::reference_hits;
using lab::monte_carlo_pi::reference_number;
using lab::monte_carlo_pi::sigma;
using lab::monte_carlo_pi::step;
using lab::testing::all_need;
using lab::testing::at_other_sizes;
using lab::testing::expect_at_full_size;
using lab::testing::expect_failures_reported;
using lab::testing::few_blocks;
using lab::testing::is_time_of;
using lab::testing::source;
using lab::testing::timed;
using lab::testing::work_of;
using numbers = std::vector<std::uint64_t>;

using named_step = lab::testing::named<step>;
constexpr named_step kSteps[] = {
    {step::per_hit, "per_hit"}, {step::per_warp, "per_warp"}, {step::per_block, "per_block"}};

// --- who does the work ---------------------------------------------------------------------------

REQUIRED_WORK(AtomicsOfTheKindThatEachStepIsNamedFor) {
  const auto are_drawn = [](std::size_t n) {
    numbers expected;
    for (std::size_t i = 0; i < n; ++i) expected.push_back(reference_number(1, i));
    return lab::testing::matches(lab::compare_exact(draw(1, 0, n), expected));
  };
  EXPECT_TRUE(at_other_sizes(are_drawn));
  EXPECT_TRUE(as_required(work_of([&] { return are_drawn(5000); }),
                          {.threads = 1024,
                           .blocks = 4,
                           .fetched = 5000 * sizeof(std::uint64_t),
                           .writes = 5000 * sizeof(std::uint64_t),
                           .sectors = 1.1}));
}

REQUIRED_WORK(TheSameAtomicsForFewPointsAndInOneBlock) {
  // There are warps that have no points: they add their 0.
  for (const auto& [points, launched] : {std::pair{700U, grid{6, 128}},
                                         {20'000U, grid{6, 128}},
                                         {1U, grid{6, 128}},
                                         {3U, grid{6, 128}},
                                         {40U, grid{6, 128}},
                                         {1U, grid{1, 32}},
                                         {31U, grid{1, 32}},
                                         {700U, grid{1, 32}},
                                         {3U, grid{1, 256}},
                                         {200U, grid{1, 256}},
                                         {20'000U, grid{1, 256}},
                                         {3000U, grid{200, 160}}})
    for (const auto& [version, name] : kSteps) {
      constexpr std::uint64_t kSeed = 2;  // whose first point is a hit
      const std::uint64_t hits = reference_hits(points, kSeed);
      const lab::testing::work done =
          work_of([&, version = version, points = points, launched = launched] {
            return count_hits(version, points, kSeed, launched).hits == hits;
          });
      const std::uint64_t threads = launched.blocks * launched.threads, warps = threads / 32,
                          with_points = std::min<std::uint64_t>(warps, (points + 31) / 32),
                          each = (points + threads - 1) / threads;  // a thread's, or fewer
      const bool all_work = points > threads / 2;
      EXPECT_TRUE(as_required(
          done,
          {.threads = version == step::per_hit                ? std::min(hits, points / each)
                      : version == step::per_warp || all_work ? warps
                                                              : launched.blocks,
           .blocks = version == step::per_hit && !all_work ? 1 : launched.blocks,
           .fetched = 4,
           .warp_functions = version == step::per_warp ? with_points : 0,
           .shared_memory = version == step::per_block && launched.threads > 32 && points > 32,
           .atomics = true}))
          << name << ": " << points << " points";
      std::uint64_t atomics = 0;
      for (const auto& k : done.kernels) {
        EXPECT_EQ(k.all_threads(), threads) << name;
        if (done.watched && version == step::per_block && all_work && k.warp_functions == 0) {
          EXPECT_GE(k.threads, threads / 2) << name << ": threads that count";
        }
        atomics += k.atomics;
      }
      if (done.watched) {
        EXPECT_EQ(atomics, claimed_atomics(version, {.hits = hits, .launched = launched}))
            << name << ": " << points << " points";
      }
    }
}

REQUIRED_WORK(CountsOfAllLanes) {
  // What lane 0 has counted alone would be right without the others. (Ballots give what they always
  // do, and per_block may do without shuffles.)
  for (const auto& [points, wanted] :
       {std::pair{40U, grid{1, 32}}, {40U, grid{6, 128}}, {3000U, grid{1, 64}}, {20'000U, grid{}}})
    for (const auto& [version, name] : kSteps) {
      if (version == step::per_hit) continue;
      const auto right_alone = [&, points = points, w = wanted, v = version] {
        const lab::testing::work done =
            work_of([&] { return count_hits(v, points, 1, w).hits == reference_hits(points, 1); });
        std::uint64_t shuffles = 0, votes = 0;
        for (const auto& k : done.kernels) shuffles += k.warp_functions, votes += k.votes;
        const bool needs_none = votes != 0 || (v == step::per_block && shuffles == 0);
        return done.values && *done.values && !needs_none ? 1U : 0U;
      };
      EXPECT_TRUE(all_need(source::other_lanes, right_alone))
          << name << ": " << points << " points";
    }
}

REQUIRED_WORK(TheGridThatWasAskedForAlsoIfItIsLargeOrHasMoreThreadsThanPoints) {
  for (const auto& [points, wanted] : {std::pair{3000U, grid{200, 160}}, {40U, grid{3, 1024}}})
    for (const auto& [version, name] : kSteps) {
      const lab::testing::work done = work_of([&, version = version, points = points, w = wanted] {
        return count_hits(version, points, 1, w).hits == reference_hits(points, 1);
      });
      EXPECT_TRUE(as_required(done, {.fetched = 4, .atomics = true})) << name;
      for (const auto& kernel : done.kernels) {
        EXPECT_EQ(kernel.blocks, wanted.blocks) << name;
        EXPECT_EQ(kernel.threads_per_block, wanted.threads) << name;
      }
    }
}

// --- the random numbers --------------------------------------------------------------------------

class Draw : public ::testing::TestWithParam<std::uint64_t> {};
INSTANTIATE_TEST_SUITE_P(Seeds, Draw, ::testing::Values(0, 1, 2, 42, 0xFFFF'FFFF'FFFF'FFFF),
                         [](const auto& info) { return "seed" + std::to_string(info.param); });

TEST_P(Draw, GivesTheNumbersOfTheRecipe) {
  // From 0 on, over the edge of 32 bits, and around the end of 64.
  for (const std::uint64_t first :
       {std::uint64_t{0}, std::uint64_t{0xFFFF'FFF0}, ~std::uint64_t{5}})
    for (const std::size_t n : {1U, 31U, 32U, 33U, 255U, 256U, 257U, 1021U}) {
      numbers expected(n);
      for (std::size_t i = 0; i < n; ++i) expected[i] = reference_number(GetParam(), first + i);
      EXPECT_TRUE(lab::testing::matches(lab::compare_exact(draw(GetParam(), first, n), expected)));
    }
}

TEST_P(Draw, NeverGivesANumberTwice) {
  numbers drawn = draw(GetParam(), 0, 100'000);
  std::ranges::sort(drawn);
  EXPECT_EQ(std::ranges::adjacent_find(drawn), drawn.end());
}

TEST_P(Draw, GivesTwoThreadsDifferentNumbersThatDoNotDependOnEachOther) {
  // Of a grid of 1000 threads, thread t has the numbers t, t + 1000, t + 2000, …
  constexpr std::size_t kThreads = 1000, kRounds = 100;
  const numbers drawn = draw(GetParam(), 0, kThreads * kRounds);
  ASSERT_EQ(drawn.size(), kThreads * kRounds);
  const auto of = [&](std::size_t thread, std::size_t round) {
    return static_cast<double>(drawn[round * kThreads + thread] >> 33) * 0x1p-31 - 0.5;
  };
  double product = 0;
  for (std::size_t thread = 0; thread + 1 < kThreads; ++thread)
    for (std::size_t round = 0; round < kRounds; ++round) {
      ASSERT_NE(of(thread, round), of(thread + 1, round));
      product += of(thread, round) * of(thread + 1, round);
    }
  // A product of two independent numbers from -1/2 to 1/2 has the mean 0 and the deviation 1/12.
  constexpr double kPairs = (kThreads - 1) * kRounds;
  EXPECT_LT(std::fabs(product / kPairs), 5.0 / 12 / std::sqrt(kPairs));
}

TEST_P(Draw, SetsEachBitInHalfOfTheNumbers) {
  constexpr std::size_t kNumbers = 40'000;
  const numbers drawn = draw(GetParam(), 7, kNumbers);
  for (unsigned bit = 0; bit < 64; ++bit) {
    const auto set = static_cast<double>(
        std::ranges::count_if(drawn, [&](std::uint64_t one) { return one >> bit & 1; }));
    EXPECT_LT(std::fabs(set - kNumbers / 2.0), 5 * std::sqrt(kNumbers) / 2) << "bit " << bit;
  }
}

TEST(DrawFromTwoSeeds, HasNoNumberInCommon) {
  const numbers one = draw(1, 0, 20'000), two = draw(2, 0, 20'000);
  const std::set<std::uint64_t> all(one.begin(), one.end());
  EXPECT_TRUE(std::ranges::none_of(two, [&](std::uint64_t bits) { return all.contains(bits); }));
}

TEST(Draw, OfNoNumbersIsEmpty) { EXPECT_TRUE(draw(1, 0, 0).empty()); }

// --- every step, every number of points ----------------------------------------------------------

using Hits = lab::testing::each_step_and<named_step>;

TEST_P(Hits, AreThoseOfTheHostAndTheAtomicsAsClaimed) {
  const auto& [version, points] = GetParam();
  const auto result = count_hits(version.value, points, points + 3);
  EXPECT_EQ(result.hits, reference_hits(points, points + 3));
  EXPECT_EQ(result.atomics, claimed_atomics(version.value, result));
}

// Around a warp and a block; a prime; more than a round of the CPU device's grid.
INSTANTIATE_TEST_SUITE_P(Steps, Hits,
                         ::testing::Combine(::testing::ValuesIn(kSteps),
                                            ::testing::Values(0, 1, 2, 31, 32, 33, 63, 65, 255, 256,
                                                              257, 1021, 8192, 100'003)),
                         lab::testing::by_step_and{"_n"});

using EachStep = lab::testing::each_step<named_step>;
INSTANTIATE_TEST_SUITE_P(Steps, EachStep, ::testing::ValuesIn(kSteps), lab::testing::by_step);

TEST_P(EachStep, GivesTheSameHitsInEveryGrid) {
  constexpr std::uint64_t kPoints = 30'011, kSeed = 9;
  const std::uint64_t expected = reference_hits(kPoints, kSeed);
  for (const grid wanted : {grid{1, 32}, grid{1, 64}, grid{1, 96}, grid{2, 992}, grid{3, 1024},
                            grid{7, 128}, grid{200, 160}, grid{5, 0}, grid{0, 512}}) {
    const auto result = count_hits(version(), kPoints, kSeed, wanted);
    EXPECT_EQ(result.hits, expected) << wanted.blocks << " blocks of " << wanted.threads;
    EXPECT_EQ(result.atomics, claimed_atomics(version(), result))
        << wanted.blocks << " blocks of " << wanted.threads;
    EXPECT_TRUE(wanted.blocks == 0 || result.launched.blocks == wanted.blocks);
    EXPECT_EQ(result.launched.threads, wanted.threads == 0 ? 256 : wanted.threads);
  }
}

TEST_P(EachStep, CountsEveryHitOfTheProgramsPoints) {
  expect_at_full_size([&] {
    const auto result = count_hits(version(), kDefaultPoints, 10);
    EXPECT_EQ(result.hits, reference_hits(kDefaultPoints, 10));
    EXPECT_EQ(result.atomics, claimed_atomics(version(), result));
    // A hundred thousand for each thread: more than 16 bits can count.
    EXPECT_EQ(count_hits(version(), kDefaultPoints, 10, {1, 32}).hits, result.hits);
  });
}

TEST_P(EachStep, CountsTheMostPointsThatItTakes) {
  // One block of a large grid, with its share of them: all of them would take minutes.
  if (!lab::on_cpu_device()) GTEST_SKIP() << "a GPU runs all blocks";
  expect_at_full_size([&] {
    const grid wanted{.blocks = 16'384, .threads = 256};
    const few_blocks last(wanted.blocks - 1);
    const auto hits = static_cast<double>(count_hits(version(), kMostPoints, 11, wanted).hits);
    const double share = std::numbers::pi / 4 * static_cast<double>(kMostPoints) / wanted.blocks;
    EXPECT_GT(hits, share / 2) << "of a block that should have " << share;
    EXPECT_LT(hits, share * 2) << "of a block that should have " << share;
  });
}

/// The seed whose number 0 is `bits`: what mix() does is undone.
std::uint64_t seed_of(std::uint64_t bits) {
  const auto inverse = [](std::uint64_t odd) {
    std::uint64_t all = odd;  // right in its lowest 3 bits, and each round doubles them
    for (int round = 0; round < 5; ++round) all *= 2 - odd * all;
    return all;
  };
  const auto unshifted = [](std::uint64_t z, unsigned by) {
    for (std::uint64_t rest = z >> by; rest != 0; rest >>= by) z ^= rest;
    return z;
  };
  const auto unmixed = [&](std::uint64_t z) {
    z = unshifted(z, 31) * inverse(kSecond);
    return unshifted(unshifted(z, 27) * inverse(kFirst), 30);
  };
  return unmixed(unmixed(bits) - kGamma);
}

TEST_P(EachStep, RoundsNothingAtTheEdgeOfTheCircle) {
  // The points that come nearest: X² + Y² is 2^62 - 6, - 3 or + 1.
  for (const auto& [x, y, hits] : {std::tuple{369'951'457ULL, 2'115'377'493ULL, 1U},
                                   {1'190'985'147, 1'786'964'017, 1},
                                   {337'817'755, 2'120'746'374, 1},
                                   {1'457'098'901, 1'577'513'490, 1},
                                   {65'536, 2'147'483'647, 0},
                                   {348'267'737, 2'119'055'356, 0},
                                   {992'819'024, 1'904'204'927, 0},
                                   {1'288'542'617, 1'717'947'596, 0}})
    for (const std::uint64_t bits : {x << 33 | y << 1 | 1, y << 33 | 1ULL << 32 | x << 1}) {
      ASSERT_EQ(reference_number(seed_of(bits), 0), bits);
      EXPECT_EQ(count_hits(version(), 1, seed_of(bits)).hits, hits) << x << ", " << y;
    }
}

TEST_P(EachStep, LaunchesNoMoreBlocksThanThereIsWorkFor) {
  for (const auto& [points, blocks] :
       {std::pair{0U, 0U}, {1U, 1U}, {255U, 1U}, {256U, 1U}, {257U, 2U}, {512U, 2U}, {513U, 3U}})
    EXPECT_EQ(count_hits(version(), points, 1).launched.blocks, blocks) << points << " points";
}

TEST_P(EachStep, BeginsAtZeroEveryTime) {
  const std::uint64_t expected = reference_hits(5000, 4);
  EXPECT_EQ(count_hits(version(), 5000, 4).hits, expected);
  EXPECT_EQ(count_hits(version(), 5000, 4).hits, expected);
  EXPECT_EQ(count_hits(version(), 40, 5).hits, reference_hits(40, 5));
}

TEST_P(EachStep, BeginsAtZeroWhenItsKernelIsRepeated) {
  // As a program repeats it to measure its time: with the counter of the previous launch.
  const lab::repeated_timing samples(3);
  const auto result = count_hits(version(), 5000, 4);
  EXPECT_EQ(result.hits, reference_hits(5000, 4));
  EXPECT_EQ(result.atomics, claimed_atomics(version(), result));
}

TEST_P(EachStep, RefusesBlocksThatAreNotWholeWarps) {
  for (const unsigned threads : {1U, 31U, 33U, 100U})
    for (const std::uint64_t points : {1000U, 0U})
      EXPECT_THROW(count_hits(version(), points, 1, {4, threads}), lab::invalid_input)
          << threads << " threads, " << points << " points";
}

TEST_P(EachStep, RefusesMoreThanTheDeviceOrTheCounterCanHold) {
  EXPECT_THROW(count_hits(version(), 1000, 1, {1, 1056}), lab::invalid_input);
  EXPECT_THROW(count_hits(version(), 1000, 1, {0x8000'0000, 32}), lab::invalid_input);
  EXPECT_THROW(count_hits(version(), kMostPoints + 1, 1), lab::invalid_input);
  EXPECT_THROW(count_hits(version(), 1000, 1, {0x0800'0000, 1024}), lab::invalid_input)
      << "2^32 warps, each with an addition to be counted in 32 bits";
  EXPECT_EQ(count_hits(version(), 1000, 1).hits, reference_hits(1000, 1))
      << "a later valid call must work";
}

TEST_P(EachStep, SaysHowLongItTook) {
  EXPECT_TRUE(
      is_time_of(timed::kernel, [&] { return count_hits(version(), 10'000, 1).kernel_ms; }));
}

// --- pi ------------------------------------------------------------------------------------------

using Pi = lab::testing::each_step_and<named_step>;
INSTANTIATE_TEST_SUITE_P(Steps, Pi,
                         ::testing::Combine(::testing::ValuesIn(kSteps),
                                            ::testing::Values(1, 2, 3, 4, 5)),
                         lab::testing::by_step_and{"_seed"});

TEST_P(Pi, IsAsNearAsFiveSigma) {
  const auto& [version, seed] = GetParam();
  constexpr std::uint64_t kPoints = 200'000;
  const auto result = count_hits(version.value, kPoints, seed);
  EXPECT_NEAR(estimate(result.hits, kPoints), std::numbers::pi, 5 * sigma(kPoints));
}

TEST(Sigma, IsWhatTheEstimatesShow) {
  // Of 400 estimates from 1000 points each, 68 % are within one sigma, give or take five times
  // sqrt(400 * 0.68 * 0.32) = 9.3; and their mean is 20 times as exact as one of them.
  constexpr std::uint64_t kPoints = 1000;
  int within = 0;
  double sum = 0;
  for (std::uint64_t seed = 1000; seed < 1400; ++seed) {
    const double pi = estimate(count_hits(step::per_block, kPoints, seed).hits, kPoints);
    within += std::fabs(pi - std::numbers::pi) < sigma(kPoints) ? 1 : 0;
    sum += pi;
  }
  EXPECT_NEAR(within, 0.683 * 400, 5 * 9.3);
  EXPECT_NEAR(sum / 400, std::numbers::pi, 5 * sigma(kPoints) / 20);
}

FAULT_TEST(DrawFromTwoSeeds, ReportsEveryCallThatFails) {
  expect_failures_reported([] { return draw(1, 2, 100); });
}

FAULT_TEST_P(EachStep, ReportsEveryCallThatFails) {
  expect_failures_reported([&] { return count_hits(version(), 1000, 1).hits; });
}

}  // namespace
