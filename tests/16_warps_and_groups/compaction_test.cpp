// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "compaction.hpp"

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <tuple>
#include <vector>

#include "fault_tests.hpp"
#include "lab/random.hpp"
#include "lab_testing.hpp"
#include "reference.hpp"
#include "required_work.hpp"
#include "steps.hpp"

namespace {

using lab::compaction::compact;
using lab::compaction::reference_compact;
using lab::compaction::step;
using lab::testing::as_required;
using lab::testing::at_other_sizes;
using lab::testing::bytes_of;
using lab::testing::expect_failures_reported;
using lab::testing::is_time_of;
using lab::testing::matches;
using lab::testing::timed;
using lab::testing::work_of;
using vector = std::vector<std::int32_t>;

using named_step = lab::testing::named<step>;
constexpr named_step kSteps[] = {
    {step::any_order, "any_order"}, {step::in_order, "in_order"}, {step::partition, "partition"}};
constexpr std::int32_t kLeast = std::numeric_limits<std::int32_t>::min();
constexpr std::int32_t kMost = std::numeric_limits<std::int32_t>::max();

/// All different and in no order, so that a moved element shows: 0 to n - 1, shuffled.
vector shuffled(std::size_t n, std::uint64_t seed) {
  vector values(n);
  std::iota(values.begin(), values.end(), 0);
  lab::random_source source(seed);
  for (std::size_t i = n; i > 1; --i) std::swap(values[i - 1], values[source.bits() % i]);
  return values;
}

/// Whether the step keeps what it should, and in the right order where it promises one.
::testing::AssertionResult is_compacted(step version, const vector& values, std::int32_t limit) {
  auto result = compact(version, values, limit);
  auto expected = reference_compact(version, values, limit);
  const auto kept = static_cast<std::size_t>(
      std::ranges::count_if(values, [limit](std::int32_t value) { return value < limit; }));
  if (result.kept != kept)
    return ::testing::AssertionFailure() << "of " << values.size() << " elements " << result.kept
                                         << " are kept, but it should be " << kept;
  if (version == step::any_order) {
    std::ranges::sort(result.values);
    std::ranges::sort(expected);
  }
  return matches(lab::compare_exact(result.values, expected));
}

// --- who does the work ---------------------------------------------------------------------------

REQUIRED_WORK(WarpsThatFindOutByVotesWhereTheirElementsGo) {
  const vector values = shuffled(50'000, 1);
  constexpr std::int32_t kLimit = 20'000;
  for (const auto& [version, name] : kSteps) {
    const auto done =
        work_of([&, version = version] { return is_compacted(version, values, kLimit); });
    const std::size_t written = version == step::partition ? values.size() : kLimit;
    EXPECT_TRUE(as_required(done, {.threads = 1024,
                                   .blocks = 4,
                                   .sent = bytes_of(values),
                                   .fetched = written * sizeof(std::int32_t),
                                   .warp_functions = values.size() / 32,
                                   .reads = bytes_of(values),
                                   .writes = written * sizeof(std::int32_t),
                                   .atomics = version == step::any_order}))
        << name;
    std::uint64_t atomics = 0, writes = 0;
    for (const auto& k : done.kernels) {
      atomics += k.atomics;
      writes += k.writes;
    }
    for (const auto& copy : done.copies) {
      if (copy.kind != cudaMemcpyHostToDevice) continue;
      EXPECT_EQ(copy.kernels, 0U)
          << name << ": the host sends something between the kernels; sums over warps are made on "
          << "the device";
    }
    // Counts, offsets or masks may take a quarter of the elements' bytes; the others take more.
    EXPECT_LE(writes, written * sizeof(std::int32_t) + bytes_of(values) / 4)
        << name << ": it writes more than the elements of its result";
    if (version == step::any_order) {
      EXPECT_LE(atomics, values.size() / 32 + 1)
          << name << ": more than one atomic addition for 32 elements";
      // Two of 32 neighbours are kept: they, too, share one addition.
      vector sparse(20'000, 1);
      for (std::size_t i = 0; i < sparse.size(); i += 16) sparse[i] = -1;
      const auto of_few =
          work_of([&, version = version] { return is_compacted(version, sparse, 0); });
      atomics = 0;
      for (const auto& k : of_few.kernels) atomics += k.atomics;
      EXPECT_LE(atomics, sparse.size() / 32 + 1)
          << name << ": more than one atomic addition for 32 elements, where few are kept";
    }
    // All but a third of them are kept; the only one, too.
    EXPECT_TRUE(at_other_sizes([version = version](int n) {
      return is_compacted(version, shuffled(static_cast<std::size_t>(n), 1), n - n / 3);
    })) << name;
  }
}

REQUIRED_WORK(VotesInAFewWarpsWhoseSumsTheHostDoesNotMake) {
  for (const auto& [version, name] : kSteps)
    for (const std::size_t n : {40, 1000, 2100}) {  // the last are the elements of three warps
      const vector values = shuffled(n, 1);
      const auto done = work_of([&, version = version] {
        return is_compacted(version, values, static_cast<std::int32_t>(n / 2));
      });
      EXPECT_TRUE(as_required(
          done, {.threads = 32, .sent = bytes_of(values), .warp_functions = (n + 31) / 32}))
          << name << ": " << n << " elements";
      for (const auto& copy : done.copies) {
        if (copy.kind != cudaMemcpyHostToDevice) continue;
        EXPECT_EQ(copy.kernels, 0U)
            << name << ": the host sends something between the kernels; even a few sums are made "
            << "on the device";
      }
      std::uint64_t atomics = 0;
      for (const auto& k : done.kernels) atomics += k.atomics;
      if (version == step::any_order) {
        EXPECT_LE(atomics, n / 32 + 1)
            << name << ": more than one atomic addition for 32 of " << n << " elements";
      }
    }
}

// --- every step, every size ----------------------------------------------------------------------

// Around a warp, the elements of a warp (1024), those of a block of eight warps (8192); primes.
using Elements = lab::testing::each_step_and<named_step, std::size_t>;
INSTANTIATE_TEST_SUITE_P(
    Steps, Elements,
    ::testing::Combine(::testing::ValuesIn(kSteps),
                       ::testing::Values(0, 1, 2, 31, 32, 33, 63, 64, 65, 255, 256, 257, 1021, 1023,
                                         1024, 1025, 2047, 2049, 8191, 8192, 8193, 20'011)),
    lab::testing::by_step_and{"_n"});

TEST_P(Elements, AreKeptByTheirValue) {
  const auto& [version, n] = GetParam();
  const vector values = shuffled(n, n + 1);
  const auto most = static_cast<std::int32_t>(n);
  for (const std::int32_t limit : {0, 1, most / 3, most / 2, most - 1, most})
    ASSERT_TRUE(is_compacted(version.value, values, limit)) << "limit " << limit;
}

TEST_P(Elements, AreAllOrNoneKept) {
  const auto& [version, n] = GetParam();
  const vector values = shuffled(n, n + 2);
  EXPECT_TRUE(is_compacted(version.value, values, kLeast)) << "none";
  EXPECT_TRUE(is_compacted(version.value, values, kMost)) << "all";
}

TEST_P(Elements, MayBeKeptInTurns) {
  // Every second one, by its position; every element is different, so their order shows. Then in
  // turns of a warp, and of two.
  const auto& [version, n] = GetParam();
  for (const std::size_t run : {1, 32, 64}) {
    vector values(n);
    for (std::size_t i = 0; i < n; ++i) {
      const auto number = static_cast<std::int32_t>(i);
      values[i] = i / run % 2 == 0 ? -1 - number : number;
    }
    ASSERT_TRUE(is_compacted(version.value, values, 0)) << "negative ones, in turns of " << run;
    ASSERT_TRUE(is_compacted(version.value, values, -5)) << "without the first ones";
  }
}

TEST_P(Elements, MayBeAllEqual) {
  const auto& [version, n] = GetParam();
  const vector sevens(n, 7);
  EXPECT_TRUE(is_compacted(version.value, sevens, 7)) << "none of them is less than 7";
  EXPECT_TRUE(is_compacted(version.value, sevens, 8)) << "all of them are less than 8";
}

// --- every step ----------------------------------------------------------------------------------

using EachStep = lab::testing::each_step<named_step>;
INSTANTIATE_TEST_SUITE_P(Steps, EachStep, ::testing::ValuesIn(kSteps), lab::testing::by_step);

TEST_P(EachStep, FindsASingleElementAnywhere) {
  // In every lane, in the first and last rounds of a warp, in the last warp.
  for (const std::size_t at : {0, 1, 30, 31, 32, 33, 1000, 1023, 1024, 2046, 2047, 2048, 2099}) {
    vector values(2100, 1);
    values[at] = -1;
    EXPECT_TRUE(is_compacted(version(), values, 0)) << "at " << at;
    std::ranges::for_each(values, [](std::int32_t& value) { value = -value; });
    EXPECT_TRUE(is_compacted(version(), values, 0)) << "all but that at " << at;
  }
}

TEST_P(EachStep, KeepsElementsOfAllKinds) {
  const vector values = {kMost, kLeast, -1, 0, 1, kLeast, kMost, 0, -1};
  for (const std::int32_t limit : {kLeast, kLeast + 1, -1, 0, 1, 2, kMost})
    EXPECT_TRUE(is_compacted(version(), values, limit)) << limit;
}

TEST_P(EachStep, TakesMoreWarpsThanOneScanHasThreads) {
  // 1024 elements per warp: over 1024 warps, so that their counts take two rounds of the scan.
  const std::size_t n = 1025 * 1024 + 7;
  EXPECT_TRUE(is_compacted(version(), shuffled(n, 3), static_cast<std::int32_t>(n / 3)));
}

TEST_P(EachStep, HasNothingToKeepWithoutValues) {
  const auto result = compact(version(), {}, 5);
  EXPECT_TRUE(result.values.empty());
  EXPECT_EQ(result.kept, 0U);
}

TEST_P(EachStep, ForgetsThePreviousCall) {
  const vector many = shuffled(5000, 1), few = shuffled(40, 2);
  EXPECT_TRUE(is_compacted(version(), many, 2500));
  EXPECT_TRUE(is_compacted(version(), few, 20));
  EXPECT_TRUE(is_compacted(version(), many, 100));
}

TEST_P(EachStep, SaysHowLongItTook) {
  EXPECT_TRUE(is_time_of(timed::kernels,
                         [&] { return compact(version(), shuffled(10'000, 1), 5000).kernel_ms; }));
}

FAULT_TEST_P(EachStep, ReportsEveryCallThatFails) {
  const vector values = shuffled(3000, 3);
  expect_failures_reported([&] { return is_compacted(version(), values, 1000); }, values);
}

}  // namespace
