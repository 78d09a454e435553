// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "scaling_model.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>
#include <set>
#include <vector>

#include "fault_tests.hpp"
#include "full_size.hpp"
#include "lab/device_limits.hpp"
#include "lab/errors.hpp"
#include "lab_testing.hpp"
#include "reference.hpp"
#include "required_work.hpp"

namespace {

using lab::scaling_model::delay;
using lab::scaling_model::fit;
using lab::scaling_model::job_size;
using lab::scaling_model::kMostRanks;
using lab::scaling_model::levels;
using lab::scaling_model::made_up;
using lab::scaling_model::measure;
using lab::scaling_model::measurement;
using lab::scaling_model::model;
using lab::scaling_model::predict;
using lab::scaling_model::reference_sum;
using lab::scaling_model::samples;
using lab::scaling_model::scaling;
using lab::scaling_model::speedups;
using lab::scaling_model::worst_error;

// --- measuring -----------------------------------------------------------------------------------

::testing::AssertionResult is_measured(const job_size& size, unsigned repetitions,
                                       const samples& got) {
  if (got.seconds.size() != repetitions)
    return ::testing::AssertionFailure()
           << "there are " << got.seconds.size() << " times for " << repetitions << " repetitions";
  for (const double seconds : got.seconds)
    if (!(seconds > 0 && seconds < 60))
      return ::testing::AssertionFailure() << "a repetition took " << seconds << " seconds";
  const double expected = reference_sum(size, repetitions);
  if (got.sum != expected)
    return ::testing::AssertionFailure()
           << "the repetitions have added up " << got.sum << ", and not " << expected;
  return ::testing::AssertionSuccess();
}
::testing::AssertionResult is_measured(const job_size& size, unsigned repetitions) {
  return is_measured(size, repetitions, measure(size, repetitions));
}

REQUIRED_WORK(AKernelOnEachRankInEachRepetition) {
  const auto done =
      lab::testing::work_of([] { return is_measured({.ranks = 3, .values = 5000}, 4); });
  // Four that count, and one that does not.
  EXPECT_TRUE(as_required(done, {.kernels = 3 * 5, .reads = 3 * 5 * 5000 * sizeof(unsigned)}));
  for (const std::size_t values : {1U, 300U})
    EXPECT_TRUE(as_required(
        lab::testing::work_of([&] { return is_measured({.ranks = 1, .values = values}, 2); }),
        {.threads = 1, .kernels = 3}))
        << "one rank, " << values << " values";
}

TEST(Measure, TimesEachRepetitionOnce) {
  for (const int ranks : {1, 2, 3, 8})
    for (const std::size_t values : {0, 1, 255, 257, 10'007}) {
      EXPECT_TRUE(is_measured({ranks, values, 1}, 3)) << ranks << " ranks, " << values;
      EXPECT_TRUE(is_measured({ranks, values, 1000}, 1)) << ranks << " ranks, " << values;
    }
}

TEST(Measure, DoesNotCountTheWaitForARankThatIsLate) {
  // 0.25 s before each repetition. One in five may be disturbed by something else.
  for (const int late : {0, 2}) {
    const samples got = measure({3, 100, 1}, 5, {.rank = late, .late_s = 0.25});
    EXPECT_TRUE(is_measured({3, 100, 1}, 5, got));
    EXPECT_LT(*std::min_element(got.seconds.begin(), got.seconds.end()), 0.2)
        << "the others have waited for rank " << late << " with their clocks running";
  }
}

TEST(Measure, TakesTheTimeOfTheSlowestRank) {
  for (const int slow : {0, 1, 2}) {
    const samples got = measure({3, 100, 1}, 2, {.rank = slow, .slow_s = 0.05});
    EXPECT_TRUE(is_measured({3, 100, 1}, 2, got));
    EXPECT_GE(*std::min_element(got.seconds.begin(), got.seconds.end()), 0.05)
        << "rank " << slow << " was slow, and its time does not count";
  }
}

TEST(Measure, CountsEachSecondOnce) {
  // All repetitions together take no longer than the call that they are part of. A clock that runs
  // on from the first repetition shows 1 s here instead of 0.1 s.
  EXPECT_TRUE(is_measured({2, 100, 1}, 1));  // now the ranks are there
  const auto begin = std::chrono::steady_clock::now();
  const samples got = measure({2, 100, 1}, 20, {.rank = 1, .slow_s = 0.005});
  const std::chrono::duration<double> all = std::chrono::steady_clock::now() - begin;
  EXPECT_LE(std::accumulate(got.seconds.begin(), got.seconds.end(), 0.0), all.count());
  EXPECT_NE(std::set<double>(got.seconds.begin(), got.seconds.end()).size(), 1U)
      << "all 20 repetitions are said to have taken the same time, which no clock would show";
  EXPECT_TRUE(is_measured({2, 100, 1}, 20, got));
}

TEST(Measure, ForgetsThePreviousCall) {
  EXPECT_TRUE(is_measured({2, 5000, 100}, 3));
  EXPECT_TRUE(is_measured({2, 7, 1}, 2));
  EXPECT_TRUE(is_measured({3, 7, 1}, 2));
  EXPECT_TRUE(is_measured({2, 5000, 100}, 3));
}

TEST(Measure, RefusesWhatCannotBeMeasured) {
  for (const int ranks : {0, -1, kMostRanks + 1})
    EXPECT_THROW(measure({ranks, 10, 1}, 1), lab::invalid_input) << ranks;
  EXPECT_THROW(measure({2, 10, 0}, 1), lab::invalid_input) << "no message";
  EXPECT_THROW(measure({2, 10, 1}, 0), lab::invalid_input) << "no repetitions";
  EXPECT_THROW(measure({2, 10, 1}, 1, {.rank = 2}), lab::invalid_input);
  EXPECT_THROW(measure({2, 10, 1}, 1, {.rank = -1}), lab::invalid_input);
  EXPECT_THROW(measure({2, 10, 1}, 1, {.late_s = -1}), lab::invalid_input);
  EXPECT_THROW(measure({2, 10, 1}, 1, {.slow_s = std::nan("")}), lab::invalid_input);
  EXPECT_TRUE(is_measured({2, 10, 1}, 1)) << "a later valid call must work";
}

TEST(Measure, MeasuresAtTheProgramsSize) {
  lab::testing::expect_at_full_size([] {
    const std::size_t size = lab::on_cpu_device() ? lab::scaling_model::kDefaultSizeOnCpu
                                                  : lab::scaling_model::kDefaultSize;
    return lab::testing::is_true_by_the_device(
        [&] {
          return is_measured({2, size / 2, std::size_t{1} << 14}, 3);
        },
        {.threads = 32, .kernels = 2 * 4});
  });
}

// --- speed-up and efficiency ---------------------------------------------------------------------

measurement took(int ranks, double seconds) { return {{ranks, 1000, 1}, seconds}; }

TEST(Speedups, CompareTheSameWorkInStrongScaling) {
  const std::vector<measurement> measured{took(1, 8), took(2, 4), took(3, 4), took(8, 2)};
  const auto rows = speedups(scaling::strong, measured);
  ASSERT_EQ(rows.size(), 4U);
  const double speedup[] = {1, 2, 2, 4}, efficiency[] = {1, 1, 2.0 / 3, 0.5};
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(rows[i].ranks, measured[i].size.ranks);
    EXPECT_DOUBLE_EQ(rows[i].speedup, speedup[i]) << i;
    EXPECT_DOUBLE_EQ(rows[i].efficiency, efficiency[i]) << i;
  }
}

TEST(Speedups, CountTheLargerWorkInWeakScaling) {
  const auto rows =
      speedups(scaling::weak, std::vector{took(1, 2), took(2, 2), took(4, 2.5), took(10, 8)});
  ASSERT_EQ(rows.size(), 4U);
  const double speedup[] = {1, 2, 3.2, 2.5}, efficiency[] = {1, 1, 0.8, 0.25};
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_DOUBLE_EQ(rows[i].speedup, speedup[i]) << i;
    EXPECT_DOUBLE_EQ(rows[i].efficiency, efficiency[i]) << i;
  }
}

TEST(Speedups, CompareWithTheFewestRanksWhereverTheyStand) {
  const std::vector<measurement> measured{took(12, 2), took(4, 4), took(6, 3)};
  const auto strong = speedups(scaling::strong, measured);
  const auto weak = speedups(scaling::weak, measured);
  ASSERT_EQ(strong.size(), 3U);
  ASSERT_EQ(weak.size(), 3U);
  EXPECT_EQ(strong[0].ranks, 12);
  EXPECT_DOUBLE_EQ(strong[0].speedup, 8);
  EXPECT_DOUBLE_EQ(strong[0].efficiency, 8.0 / 12);
  EXPECT_DOUBLE_EQ(strong[1].speedup, 4);
  EXPECT_DOUBLE_EQ(strong[1].efficiency, 1);
  EXPECT_DOUBLE_EQ(strong[2].speedup, 16.0 / 3) << "6 ranks are one and a half times 4";
  EXPECT_DOUBLE_EQ(strong[2].efficiency, 8.0 / 9);
  EXPECT_DOUBLE_EQ(weak[0].speedup, 24);
  EXPECT_DOUBLE_EQ(weak[0].efficiency, 2);
  EXPECT_DOUBLE_EQ(weak[2].speedup, 8);
}

TEST(Speedups, RefuseWhatCannotBeCompared) {
  for (const scaling kind : {scaling::strong, scaling::weak}) {
    EXPECT_THROW(speedups(kind, {}), lab::invalid_input);
    EXPECT_THROW(speedups(kind, std::vector{took(0, 1)}), lab::invalid_input);
    EXPECT_THROW(speedups(kind, std::vector{took(1, 1), took(2, 0)}), lab::invalid_input);
    EXPECT_THROW(speedups(kind, std::vector{took(1, 1), took(2, -1)}), lab::invalid_input);
    EXPECT_THROW(speedups(kind, std::vector{took(1, 1), took(2, std::nan(""))}),
                 lab::invalid_input);
    EXPECT_THROW(speedups(kind, std::vector{took(2, 1), took(1, 2), took(2, 1)}),
                 lab::invalid_input);
  }
}

// --- the model -----------------------------------------------------------------------------------

TEST(Levels, AreThoseOfATree) {
  EXPECT_EQ(levels(1), 0U);
  EXPECT_EQ(levels(2), 1U);
  EXPECT_EQ(levels(3), 2U);
  EXPECT_EQ(levels(4), 2U);
  EXPECT_EQ(levels(5), 3U);
  EXPECT_EQ(levels(65'536), 16U);
  EXPECT_EQ(levels(65'537), 17U);
  for (unsigned k = 2; k < 31; ++k) {
    EXPECT_EQ(levels((1 << k) - 1), k);
    EXPECT_EQ(levels(1 << k), k);
    EXPECT_EQ(levels((1 << k) + 1), k + 1);
  }
  EXPECT_EQ(levels(std::numeric_limits<int>::max()), 31U);
}

TEST(Levels, RefuseATreeOfNobody) {
  for (const int ranks : {0, -1, -8}) EXPECT_THROW(levels(ranks), lab::invalid_input);
}

TEST(Predict, AddsTheFourTerms) {
  EXPECT_DOUBLE_EQ(predict({.overhead = 3}, {5, 100, 7}), 3);
  EXPECT_DOUBLE_EQ(predict({.per_value = 3}, {5, 100, 7}), 300);
  EXPECT_DOUBLE_EQ(predict({.per_level = 3}, {5, 100, 7}), 9);
  EXPECT_DOUBLE_EQ(predict({.per_byte = 3}, {5, 100, 7}), 3 * 3 * 56);
  EXPECT_DOUBLE_EQ(predict({1, 2, 3, 4}, {1, 100, 7}), 201) << "one rank sends nothing";
  EXPECT_DOUBLE_EQ(predict({1, 2, 3, 4}, {5, 100, 7, 2}), 1 + 400 + 3 * (3 + 4 * 56))
      << "two ranks take turns with their values, but not with their messages";
  EXPECT_DOUBLE_EQ(predict({1e-5, 1e-9, 2e-6, 1e-10}, {65'536, std::size_t{1} << 33, 1000}),
                   1e-5 + 8.589934592 + 16 * (2e-6 + 8e-7));
  EXPECT_DOUBLE_EQ(predict({.per_byte = 1e-9}, {2, 0, std::size_t{1} << 30}), 8.589934592)
      << "2^33 bytes";
  EXPECT_DOUBLE_EQ(predict({.per_byte = 0x1p-64}, {2, 0, std::size_t{1} << 62}), 2) << "2^65 bytes";
  EXPECT_DOUBLE_EQ(predict({.per_value = 0x1p-64}, {2, std::size_t{1} << 62, 1, 8}), 2)
      << "2^62 values of each of 8 ranks on a device";
}

std::vector<job_size> sizes_of(std::initializer_list<int> ranks) {
  std::vector<job_size> sizes;
  for (const int p : ranks)
    for (const std::size_t message : {1, 100, 30'000})
      for (const std::size_t values : {1'000'000 / p, 50'000})
        sizes.push_back({p, values, message});
  return sizes;
}
const model kModels[] = {
    {20e-6, 0.3e-9, 2e-6, 0.1e-9}, {1e-3, 5e-9, 80e-6, 2e-9}, {1, 1e-6, 0.3, 1e-6}};

TEST(Fit, FindsTheModelOfExactMeasurements) {
  for (const model& is : kModels) {
    const auto measured = made_up(is, sizes_of({1, 2, 4, 8}), 0, 1);
    const model got = fit(measured);
    EXPECT_NEAR(got.overhead / is.overhead, 1, 1e-6);
    EXPECT_NEAR(got.per_value / is.per_value, 1, 1e-6);
    EXPECT_NEAR(got.per_level / is.per_level, 1, 1e-6);
    EXPECT_NEAR(got.per_byte / is.per_byte, 1, 1e-6);
    EXPECT_LT(worst_error(got, measured), 1e-6);
  }
}

TEST(Fit, HasNegativeCoefficientsWhereTheMeasurementsDo) {
  // A coefficient that becomes 0 in its place is not the best, and hides that there is noise.
  for (const model& is : {model{-20e-6, 1e-9, 5e-6, 1e-10}, model{1e-3, -1e-11, 5e-6, 1e-10},
                          model{1e-3, 1e-9, -5e-6, 1e-10}, model{1e-3, 1e-9, 5e-6, -1e-10}}) {
    const auto measured = made_up(is, sizes_of({1, 2, 4, 8}), 0, 1);
    const model got = fit(measured);
    EXPECT_NEAR(got.overhead / is.overhead, 1, 1e-6);
    EXPECT_NEAR(got.per_value / is.per_value, 1, 1e-6);
    EXPECT_NEAR(got.per_level / is.per_level, 1, 1e-6);
    EXPECT_NEAR(got.per_byte / is.per_byte, 1, 1e-6);
  }
}

TEST(Fit, PredictsCountsThatItHasNotSeen) {
  for (const model& is : kModels)
    for (const std::uint64_t seed : {1, 2, 3, 4, 5}) {
      const auto seen = made_up(is, sizes_of({1, 2, 4, 8, 16}), 0.02, seed);
      const model got = fit(seen);
      EXPECT_LT(worst_error(got, seen), 0.05);
      // Those in between, without noise; and far away, where errors of the terms add up.
      EXPECT_LT(worst_error(got, made_up(is, sizes_of({3, 5, 6, 12}), 0, 0)), 0.04) << seed;
      EXPECT_LT(worst_error(got, made_up(is, sizes_of({1024, 65'536}), 0, 0)), 0.08) << seed;
    }
}

TEST(Fit, TellsRanksThatTakeTurnsFromASlowNetwork) {
  // Measured on two devices, and asked for a machine where each rank has one.
  for (const model& is : kModels) {
    auto sizes = sizes_of({1, 2, 4, 8});
    for (job_size& each : sizes) each.sharing = (each.ranks + 1) / 2;
    const model got = fit(made_up(is, sizes, 0, 1));
    EXPECT_NEAR(got.per_value / is.per_value, 1, 1e-6);
    EXPECT_NEAR(got.per_level / is.per_level, 1, 1e-6);
    EXPECT_LT(worst_error(got, made_up(is, sizes_of({3, 16, 1024}), 0, 0)), 1e-6);
  }
}

TEST(Fit, MakesRelativeErrorsSmall) {
  // A job of 10 s that is wrong by 3 % must not spoil jobs of 10 us.
  const model is{10e-6, 1e-9, 1e-6, 1e-10};
  auto measured = made_up(is, sizes_of({1, 2, 4, 8}), 0, 1);
  measured.push_back({{1, 10'000'000'000, 1}, predict(is, {1, 10'000'000'000, 1}) * 1.03});
  const model got = fit(measured);
  for (const measurement& each : measured)
    if (each.seconds < 1) {
      EXPECT_NEAR(predict(got, each.size) / each.seconds, 1, 0.1);
    }
}

TEST(Fit, IsTheBestOfAllModels) {
  // No neighbour has a smaller sum of squares. Each measurement counts, also where some jobs were
  // measured more often than others.
  const auto once = made_up(kModels[1], sizes_of({1, 2, 3, 7}), 0.1, 9);
  auto often = once;
  for (std::size_t i = 0; i < once.size(); i += 5)
    for (int time = 0; time < 20; ++time)
      often.push_back({once[i].size, once[i].seconds * (time % 2 == 0 ? 1.5 : 1.2)});
  for (const auto& measured : {once, often}) {
    const auto squares = [&](const model& of) {
      double sum = 0;
      for (const measurement& each : measured)
        sum += std::pow(predict(of, each.size) / each.seconds - 1, 2);
      return sum;
    };
    const model best = fit(measured);
    const double smallest = squares(best);
    for (double model::*term :
         {&model::overhead, &model::per_value, &model::per_level, &model::per_byte})
      for (const double factor : {0.98, 1.02}) {
        model other = best;
        other.*term *= factor;
        EXPECT_GT(squares(other), smallest) << measured.size() << " measurements";
      }
  }
}

TEST(Fit, RefusesMeasurementsThatDoNotDetermineIt) {
  const model is = kModels[0];
  EXPECT_THROW(fit({}), lab::invalid_input);
  EXPECT_THROW(fit(made_up(is, std::vector<job_size>{{1, 10, 1}, {2, 20, 5}, {4, 7, 9}}, 0, 1)),
               lab::invalid_input);
  EXPECT_THROW(fit(made_up(is, sizes_of({4}), 0, 1)), lab::invalid_input) << "always 4 ranks";
  EXPECT_THROW(fit(made_up(is, sizes_of({1}), 0, 1)), lab::invalid_input) << "always alone";
  auto sizes = sizes_of({1, 2, 4, 8});
  for (job_size& each : sizes) each.message = 3;
  EXPECT_THROW(fit(made_up(is, sizes, 0, 1)), lab::invalid_input) << "always the same message";
  sizes = sizes_of({1, 2, 4, 8});
  for (job_size& each : sizes) each.values = 1000;
  EXPECT_THROW(fit(made_up(is, sizes, 0, 1)), lab::invalid_input) << "always as many values";
}

TEST(Fit, RefusesDevicesWithoutRanks) {
  for (const int sharing : {0, -1}) {
    auto measured = made_up(kModels[0], sizes_of({1, 2, 4}), 0, 1);
    measured[3].size.sharing = sharing;
    EXPECT_THROW(fit(measured), lab::invalid_input) << sharing;
    EXPECT_THROW(worst_error(kModels[0], measured), lab::invalid_input) << sharing;
  }
}

TEST(Fit, RefusesTimesThatCannotBe) {
  for (const double seconds : {0.0, -1.0, std::nan(""), HUGE_VAL}) {
    auto measured = made_up(kModels[0], sizes_of({1, 2, 4}), 0, 1);
    measured[3].seconds = seconds;
    EXPECT_THROW(fit(measured), lab::invalid_input) << seconds;
    EXPECT_THROW(worst_error(kModels[0], measured), lab::invalid_input) << seconds;
  }
}

TEST(WorstError, IsTheLargestRelativeOne) {
  const model is{.overhead = 1};
  EXPECT_EQ(worst_error(is, {}), 0);
  EXPECT_DOUBLE_EQ(worst_error(is, std::vector{took(1, 1), took(2, 0.8), took(4, 1.1)}), 0.25);
  EXPECT_DOUBLE_EQ(worst_error(is, std::vector{took(1, 1), took(2, 4)}), 0.75);
}

FAULT_TEST(Measure, ReportsEveryCallThatFails) {
  lab::testing::expect_failures_reported([] { return is_measured({2, 300, 1}, 1); });
}

}  // namespace
