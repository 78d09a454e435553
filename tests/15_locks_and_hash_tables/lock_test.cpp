// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "lock.hpp"

#include <cuda_runtime.h>

#include <string>
#include <tuple>

#include "fault_tests.hpp"
#include "full_size.hpp"
#include "lab/errors.hpp"
#include "lab/launch_limits.hpp"
#include "lab/time_kernel.hpp"
#include "lab_testing.hpp"
#include "reference.hpp"
#include "required_work.hpp"
#include "steps.hpp"

namespace {

using lab::device_limit;
using lab::lock::count;
using lab::lock::expected_count;
using lab::lock::expected_entries;
using lab::lock::kDefaultWork;
using lab::lock::step;
using lab::lock::work;
using lab::testing::expect_at_full_size;
using lab::testing::expect_failures_reported;
using lab::testing::is_time_of;
using lab::testing::timed;
using lab::testing::work_of;

// A lock that is never released makes the kernel wait forever. The CPU device ends it; its default
// of 30 seconds would be a long time for a student to wait.
const lab::testing::setting kTimeLimit("CPU_DEVICE_TIME_LIMIT", "10",
                                       lab::testing::setting::when::unless_given);

using named_step = lab::testing::named<step>;
constexpr named_step kSteps[] = {{step::one_per_block, "one_per_block"},
                                 {step::lanes_in_turn, "lanes_in_turn"},
                                 {step::atomic_ref, "atomic_ref"}};

::testing::AssertionResult is_exact(step version, const work& job) {
  const auto result = count(version, job);
  if (result.count == expected_count(job) && result.entries == expected_entries(version, job))
    return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure()
         << result.count << " threads were counted, but there are " << expected_count(job)
         << "; the lock was taken " << result.entries << " times, not "
         << expected_entries(version, job);
}
void expect_exact(step version, const work& job) { EXPECT_TRUE(is_exact(version, job)); }

// --- who does the work ---------------------------------------------------------------------------

REQUIRED_WORK(AGridThatTakesALock) {
  for (const auto& [version, name] : kSteps) {
    for (const work job : {work{4, 64, 2}, work{1, 64, 3}, work{1, 1, 1}, work{1, 7, 2},
                           work{3, 33, 1}, work{40, 1, 2}, work{40, 41, 2}}) {
      const lab::testing::work done =
          work_of([&, version = version] { return is_exact(version, job); });
      EXPECT_TRUE(as_required(done, {.threads = job.blocks,
                                     .blocks = job.blocks,
                                     .fetched = 4,
                                     .writes = 4,
                                     .atomics = true}))
          << name;
      if (done.kernels.empty()) continue;
      const auto& k = done.kernels.back();  // one before it may make the lock
      EXPECT_EQ(std::pair(k.blocks, k.threads_per_block),
                std::pair(1UL * job.blocks, 1UL * job.threads))
          << name;
      if (done.watched) {
        const std::uint64_t entries = expected_entries(version, job);
        EXPECT_GE(k.atomics, 2 * entries) << name << ": each entry takes the lock and releases it";
        EXPECT_GE(k.atomic_threads, entries / job.times)
            << name << ": threads that take the lock for themselves";
        EXPECT_GE(k.plain_writes, 2 * sizeof(std::uint64_t) * entries)
            << name << ": what the lock protects is written without atomics";
        if (version == step::atomic_ref) {
          EXPECT_EQ(k.fences, 0U) << name << ": acquire and release need no separate fences";
        }
      }
    }
  }
}

// --- every step, in every shape ------------------------------------------------------------------

class Count : public ::testing::TestWithParam<std::tuple<named_step, work>> {};

TEST_P(Count, IsExact) {
  const auto& [version, job] = GetParam();
  expect_exact(version.value, job);
}

// One thread; around a warp (32) and several; blocks that compete; threads that come back.
INSTANTIATE_TEST_SUITE_P(
    Steps, Count,
    ::testing::Combine(::testing::ValuesIn(kSteps),
                       ::testing::Values(work{1, 1, 1}, work{1, 1, 50}, work{1, 31, 2},
                                         work{1, 32, 2}, work{1, 33, 2}, work{1, 64, 1},
                                         work{2, 1, 40}, work{3, 32, 5}, work{2, 65, 3},
                                         work{5, 97, 1}, work{64, 1, 3}, work{4, 256, 1})),
    [](const auto& info) {
      const work& job = std::get<1>(info.param);
      return std::string(std::get<0>(info.param).name) + "_" + std::to_string(job.blocks) +
             "_blocks_of_" + std::to_string(job.threads) + "_" + std::to_string(job.times) +
             (job.times == 1 ? "_time" : "_times");
    });

using EachStep = lab::testing::each_step<named_step>;
INSTANTIATE_TEST_SUITE_P(Steps, EachStep, ::testing::ValuesIn(kSteps), lab::testing::by_step);

TEST_P(EachStep, CountsTheLargestBlock) {
  expect_exact(version(), {2, device_limit(cudaDevAttrMaxThreadsPerBlock), 1});
}

TEST_P(EachStep, CountsNothingInAnEmptyGrid) {
  expect_exact(version(), {0, 32, 3});
  expect_exact(version(), {3, 0, 3});
  expect_exact(version(), {0, 0, 0});
}

TEST_P(EachStep, CountsNothingZeroTimes) { expect_exact(version(), {3, 32, 0}); }

// Of one step, since so many entries take a second or two.
TEST(OnePerBlock, CountsMoreTimesThan16BitsHold) {
  expect_at_full_size([] { expect_exact(step::one_per_block, {1, 1, 65'537}); });
}

TEST_P(EachStep, BeginsWithAFreeLockAndAtZeroEachTime) {
  for (int i = 0; i < 3; ++i) expect_exact(version(), {2, 40, 1});
}

TEST_P(EachStep, IsExactWhenItsKernelIsRepeated) {
  const lab::repeated_timing samples(2);
  expect_exact(version(), {1, 3, 2});
  expect_exact(version(), {2, 33, 1});
}

TEST_P(EachStep, RefusesBlocksThatAreTooLarge) {
  EXPECT_THROW(count(version(), {1, device_limit(cudaDevAttrMaxThreadsPerBlock) + 1, 1}),
               lab::invalid_input);
}

TEST_P(EachStep, RefusesGridsThatAreTooLargeAndWorksAgainAfterwards) {
  EXPECT_THROW(count(version(), {device_limit(cudaDevAttrMaxGridDimX) + 1, 1, 1}),
               lab::invalid_input);
  expect_exact(version(), {2, 33, 1});
}

TEST_P(EachStep, SaysHowLongItTook) {
  EXPECT_TRUE(is_time_of(timed::kernel, [&] { return count(version(), {2, 32, 1}).kernel_ms; }));
}

FAULT_TEST_P(EachStep, ReportsEveryCallThatFails) {
  expect_failures_reported([&] { return count(version(), {3, 33, 2}).count; });
}

TEST_P(EachStep, IsExactAtTheProgramsSize) {
  expect_at_full_size([&] { expect_exact(version(), kDefaultWork); });
}

}  // namespace
