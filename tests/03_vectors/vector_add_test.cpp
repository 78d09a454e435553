// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "vector_add.hpp"

#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <tuple>
#include <vector>

#include "fault_tests.hpp"
#include "few_blocks.hpp"
#include "full_size.hpp"
#include "lab/errors.hpp"
#include "lab/launch_limits.hpp"
#include "lab/random.hpp"
#include "lab_testing.hpp"
#include "pretended_devices.hpp"
#include "reference.hpp"
#include "required_work.hpp"
#include "steps.hpp"

namespace {

using lab::device_limit;
using lab::testing::at_other_sizes;
using lab::testing::expect_at_full_size;
using lab::testing::expect_failures_reported;
using lab::testing::few_blocks;
using lab::testing::is_time_of;
using lab::testing::is_true_by_the_device;
using lab::testing::kManyBlocks;
using lab::testing::matches;
using lab::testing::timed;
using lab::testing::work_of;
using lab::testing::work_without_values;
using lab::vector_add::add;
using lab::vector_add::reference;
using lab::vector_add::step;

using named_step = lab::testing::named<step>;

constexpr named_step kSteps[] = {{step::cpu, "cpu"},
                                 {step::one_thread_per_block, "one_thread_per_block"},
                                 {step::one_block, "one_block"},
                                 {step::ceil_division, "ceil_division"},
                                 {step::grid_stride, "grid_stride"},
                                 {step::vectorized, "vectorized"}};

/// One block cannot do more than this.
bool fits(step version, std::size_t n) {
  return version != step::one_block || n <= device_limit(cudaDevAttrMaxThreadsPerBlock);
}

/// Adds random vectors, different at every element, and compares bit for bit.
::testing::AssertionResult is_right_sum(step version, std::size_t n, std::uint64_t seed) {
  const auto a = lab::random_floats(n, seed, -1000, 1000);
  const auto b = lab::random_floats(n, seed + 1, -10, 30);
  return matches(lab::compare_exact(add(version, a, b).sum, reference(a, b)));
}
void expect_right_sum(step version, std::size_t n, std::uint64_t seed) {
  EXPECT_TRUE(is_right_sum(version, n, seed));
}

/// The same, and whether a launch has so many threads.
::testing::AssertionResult is_right_sum_of_threads(step version, std::size_t n, std::uint64_t seed,
                                                   std::size_t threads) {
  return is_true_by_the_device([&] { return is_right_sum(version, n, seed); },
                               {.threads = threads, .fetched = n * sizeof(float)});
}

// --- who does the work ---------------------------------------------------------------------------

REQUIRED_WORK(TheGridThatEachStepIsNamedFor) {
  const auto a = lab::random_floats(100'003, 1, -9, 4), b = lab::random_floats(100'003, 2, -1, 30);
  const auto is_right = [&](step version, std::size_t n) {
    const std::span first = std::span(a).first(n), second = std::span(b).first(n);
    return matches(lab::compare_exact(add(version, first, second).sum, reference(first, second)));
  };
  const auto done_by = [&](step version, std::size_t n) {
    return work_of([&] { return is_right(version, n); });
  };
  for (const auto& [version, name] : std::span(kSteps).subspan(1))
    EXPECT_TRUE(at_other_sizes([&, version = version](std::size_t n) {
      return is_right(version, n);
    })) << name;
  const lab::testing::work on_host = done_by(step::cpu, 1000);
  EXPECT_TRUE(as_required(on_host, {.kernels = 0})) << "cpu";
  EXPECT_TRUE(on_host.kernels.empty()) << "cpu: this step is a loop on the host";
  const auto asks_for = [](std::uint64_t blocks, std::uint64_t threads, std::size_t n) {
    const std::size_t bytes = n * sizeof(float);
    return lab::testing::required{.threads = threads,
                                  .blocks = blocks,
                                  .sent = 2 * bytes,
                                  .fetched = bytes,
                                  .reads = 2 * bytes,
                                  .writes = bytes,
                                  .sectors = 1.1};
  };
  // Few elements are added no differently than many.
  for (const auto& [version, name] : std::span(kSteps).subspan(1))
    for (const std::size_t n : {1, 3, 7, 40, 257, 1000}) {
      const bool shares = version >= step::grid_stride;  // elements, from here on
      lab::testing::required expected = asks_for(version == step::one_thread_per_block ? n : 1,
                                                 shares ? std::max<std::size_t>(n / 4, 1) : n, n);
      expected.sectors = 0;  // an array of few elements may begin anywhere in a sector
      if (version == step::vectorized && n >= 4) expected.bytes_a_load = 16;
      EXPECT_TRUE(as_required(done_by(version, n), expected)) << name << " of " << n << " elements";
    }
  const lab::testing::work single = done_by(step::one_thread_per_block, kManyBlocks);
  EXPECT_TRUE(as_required(single, asks_for(kManyBlocks, kManyBlocks, kManyBlocks)))
      << "one_thread_per_block";
  const lab::testing::work one = done_by(step::one_block, 1000);
  EXPECT_TRUE(as_required(one, asks_for(1, 1000, 1000))) << "one_block";
  EXPECT_TRUE(as_required(done_by(step::ceil_division, 1000), asks_for(4, 1000, 1000)))
      << "ceil_division";
  const auto expect_grid = [](const lab::testing::work& done, std::uint64_t blocks,
                              std::uint64_t threads, const char* name) {
    for (const auto& k : done.kernels) {
      EXPECT_EQ(k.blocks, blocks) << name << ": the blocks, for 65537, 1000 or 1024 elements";
      EXPECT_EQ(k.threads_per_block, threads) << name << ": the threads of a block";
    }
  };
  expect_grid(single, kManyBlocks, 1, "one_thread_per_block");
  expect_grid(one, 1, 1000, "one_block");
  expect_grid(done_by(step::ceil_division, 1024), 4, 256, "ceil_division");
  // A grid that is smaller than the device leaves multiprocessors idle, unless the work is too
  // little for a large device.
  const std::size_t processors = device_limit(cudaDevAttrMultiProcessorCount);
  const std::size_t half = processors * device_limit(cudaDevAttrMaxThreadsPerMultiProcessor) / 2;
  lab::testing::required shared = asks_for(processors, std::min(half, a.size()), a.size());
  shared.share = 4;  // even of those that are left after the last whole round of the grid
  EXPECT_TRUE(as_required(done_by(step::grid_stride, a.size()), shared)) << "grid_stride";
  EXPECT_TRUE(as_required(done_by(step::grid_stride, 1000), asks_for(1, 250, 1000)))
      << "grid_stride";
  lab::testing::required quads = asks_for(processors, std::min(half, a.size() / 4), a.size());
  quads.bytes_a_load = 16;
  const lab::testing::work wide = done_by(step::vectorized, a.size());
  EXPECT_TRUE(as_required(wide, quads)) << "vectorized";
  for (const auto& k : wide.kernels) {
    if (wide.watched) {
      EXPECT_LT(k.accesses, a.size())
          << "vectorized: the loads and stores, for 100003 elements, 16 bytes at a time";
    }
  }
  for (const auto& k : done_by(step::vectorized, 4096).kernels)
    EXPECT_LT(k.all_threads(), 4096 / 4 + k.threads_per_block)
        << "vectorized: the threads, for 4096 elements, four of which have one";
}

// --- every step, at every size ------------------------------------------------------------------

using Sum = lab::testing::each_step_and<named_step, std::size_t>;

TEST_P(Sum, IsExact) {
  const auto& [version, n] = GetParam();
  if (fits(version.value, n))
    expect_right_sum(version.value, n, n + 1);
  else
    EXPECT_THROW(add(version.value, std::vector<float>(n), std::vector<float>(n)),
                 lab::invalid_input);
}

// Around a quad (4), a warp (32), the kernel's block (256) and the largest block (1024), which is
// also what a block of 256 quads adds: below, there, above, and with each remainder by 4; a prime;
// the book's 33 * 1024.
INSTANTIATE_TEST_SUITE_P(Steps, Sum,
                         ::testing::Combine(::testing::ValuesIn(kSteps),
                                            ::testing::Values(0, 1, 2, 3, 4, 5, 7, 8, 31, 32, 33,
                                                              127, 255, 256, 257, 511, 1021, 1022,
                                                              1023, 1024, 1025, 1026, 10 * 256 + 1,
                                                              33 * 1024)),
                         lab::testing::by_step_and{"_n"});

using EachStep = lab::testing::each_step<named_step>;
INSTANTIATE_TEST_SUITE_P(Steps, EachStep, ::testing::ValuesIn(kSteps), lab::testing::by_step);

TEST_P(EachStep, AddsNothingForEmptyVectors) { EXPECT_TRUE(add(version(), {}, {}).sum.empty()); }

TEST_P(EachStep, RefusesVectorsOfDifferentLengths) {
  const std::vector<float> three(3, 1.0F), four(4, 1.0F), none;
  EXPECT_THROW(add(version(), three, four), lab::invalid_input);
  EXPECT_THROW(add(version(), four, three), lab::invalid_input);
  EXPECT_THROW(add(version(), three, none), lab::invalid_input);
}

TEST_P(EachStep, LeavesItsInputsAlone) {
  const auto a = lab::random_floats(500, 7, -1, 1), b = lab::random_floats(500, 8, -1, 1);
  auto a_given = a, b_given = b;
  add(version(), a_given, b_given);
  EXPECT_EQ(a_given, a);
  EXPECT_EQ(b_given, b);
}

TEST_P(EachStep, AddsToWhatIsThereNow) {
  // The same lengths twice: the first sum, left in memory that is allocated again, would be wrong
  // the second time.
  expect_right_sum(version(), 777, 1);
  expect_right_sum(version(), 777, 2);
}

TEST_P(EachStep, KeepsInfinitiesAndSignsOfZeroAndRoundsOnce) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  constexpr float kLargest = std::numeric_limits<float>::max();
  const float pairs[][2] = {{kInfinity, 1.0F}, {kLargest, kLargest}, {16777216.0F, 1.0F},
                            {1.0F, 0x1p-24F},  {-0.0F, -0.0F},       {1e-45F, 1e-45F},
                            {1.0F, -kInfinity}};
  std::vector<float> a, b;
  for (int i = 0; i < 5 * 7; ++i) {  // each of the seven at every place of a quad, -0 also after it
    a.push_back(pairs[i % 7][0]);
    b.push_back(pairs[i % 7][1]);
  }
  const std::vector<float> sum = add(version(), a, b).sum, expected = reference(a, b);
  EXPECT_TRUE(matches(lab::compare_exact(sum, expected)));
  for (std::size_t i = 0; i < sum.size(); ++i)  // to == 0 and -0 are the same
    EXPECT_EQ(std::signbit(sum[i]), std::signbit(expected[i])) << "the sign of [" << i << "]";
}

using EachSeed = lab::testing::each_step_and<named_step>;
INSTANTIATE_TEST_SUITE_P(Steps, EachSeed,
                         ::testing::Combine(::testing::ValuesIn(kSteps),
                                            ::testing::Values(1, 2, 3)),
                         lab::testing::by_step_and{"_seed"});

TEST_P(EachSeed, AddsRandomVectors) {
  const auto& [version, seed] = GetParam();
  expect_right_sum(version.value, 1019, seed * 100);
}

// --- long vectors -------------------------------------------------------------------------------

TEST(CeilDivision, AddsAMillionAndSevenElements) {
  expect_at_full_size(
      [] { return is_right_sum_of_threads(step::ceil_division, 1'000'007, 5, 1'000'007); });
}

REQUIRED_WORK(MoreBlocksThanOldGridsHad) {
  expect_at_full_size([] {
    const std::vector<float> a(kManyBlocks * 256, 1.0F);
    const few_blocks one(0);
    EXPECT_TRUE(as_required(work_without_values([&] { add(step::ceil_division, a, a); }),
                            {.threads = a.size(), .blocks = kManyBlocks}))
        << "ceil_division";
  });
}

TEST(OneThreadPerBlock, AddsMoreElementsThanOldGridsHadBlocks) {
  expect_right_sum(step::one_thread_per_block, 65'535 + 2, 6);
}

TEST(GridStride, AddsAMillionAndSevenElements) {
  expect_at_full_size([] { expect_right_sum(step::grid_stride, 1'000'007, 5); });
}

TEST(GridStride, AddsMoreElementsThanTheDeviceRunsThreads) {
  const std::size_t threads = std::size_t{device_limit(cudaDevAttrMultiProcessorCount)} *
                              device_limit(cudaDevAttrMaxThreadsPerMultiProcessor);
  expect_right_sum(step::grid_stride, 3 * threads + 5, 9);
}

TEST(Vectorized, AddsAMillionAndSevenElements) {
  expect_at_full_size(
      [] { return is_right_sum_of_threads(step::vectorized, 1'000'007, 5, 1'000'007 / 4); });
}

// --- refusals -----------------------------------------------------------------------------------

#ifdef __CPU_DEVICE__
TEST_P(EachStep, RefusesMoreThanTheCurrentDeviceCanDo) {
  if (version() == step::cpu || version() == step::grid_stride) return;  // which do any number
  const lab::testing::pretended_devices low([](cudaDeviceProp& p) {
    p.maxGridSize[0] = 3;
    p.maxThreadsPerBlock = 512;
  });
  const std::size_t most = version() == step::one_thread_per_block ? 3
                           : version() == step::one_block          ? 512
                           : version() == step::ceil_division      ? 3 * 256
                                                                   : 3 * 512 * 4;
  // (The blocks of vectorized may be smaller than the largest ones.)
  if (version() != step::vectorized) expect_right_sum(version(), most, 7);
  const std::vector<float> more(most + 1);
  EXPECT_THROW(add(version(), more, more), lab::invalid_input) << most + 1 << " elements";
}
#endif

TEST(OneBlock, TakesAsManyElementsAsTheLargestBlockHasThreads) {
  expect_right_sum(step::one_block, device_limit(cudaDevAttrMaxThreadsPerBlock), 3);
}

TEST(OneBlock, RefusesOneElementMore) {
  const std::vector<float> more(device_limit(cudaDevAttrMaxThreadsPerBlock) + 1);
  EXPECT_THROW(add(step::one_block, more, more), lab::invalid_input) << more.size() << " elements";
}

TEST(OneBlock, WorksAgainAfterARefusal) {
  const std::vector<float> many(5000);
  EXPECT_THROW(add(step::one_block, many, many), lab::invalid_input);
  expect_right_sum(step::one_block, 100, 4);
}

// --- time ---------------------------------------------------------------------------------------

TEST_P(EachStep, SaysHowLongItTook) {
  const std::vector<float> a(1000, 1.0F);
  EXPECT_TRUE(is_time_of(timed::kernel, [&] { return add(version(), a, a).kernel_ms; }));
}

FAULT_TEST_P(EachStep, ReportsEveryCallThatFails) {
  if (version() == step::cpu) return;  // which makes no calls
  const auto a = lab::random_floats(100, 1, -1, 1), b = lab::random_floats(100, 2, -1, 1);
  expect_failures_reported([&] { return add(version(), a, b).sum; }, a, b);
}

}  // namespace
