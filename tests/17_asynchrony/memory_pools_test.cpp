// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "memory_pools.hpp"

#include <cuda_runtime.h>
#ifdef __CPU_DEVICE__
#include <cpu_device.h>
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <limits>
#include <numeric>
#include <string>
#include <tuple>
#include <vector>

#include "fault_tests.hpp"
#include "full_size.hpp"
#include "lab/errors.hpp"
#include "lab/random.hpp"
#include "lab_testing.hpp"
#include "reference.hpp"
#include "required_work.hpp"
#include "steps.hpp"

namespace {

using lab::memory_pools::kDefaultBatch;
using lab::memory_pools::kDefaultJobs;
using lab::memory_pools::kDefaultLength;
using lab::memory_pools::kLongestJob;
using lab::memory_pools::reference;
using lab::memory_pools::result;
using lab::memory_pools::smooth;
using lab::memory_pools::step;
using lab::testing::as_required;
using lab::testing::bytes_of;
using lab::testing::expect_at_full_size;
using lab::testing::expect_failures_reported;
using lab::testing::is_time_of;
using lab::testing::matches;
using lab::testing::timed;
using lab::testing::work_of;
using numbers = std::vector<std::uint32_t>;
using sizes = std::vector<std::size_t>;

using named_step = lab::testing::named<step>;
constexpr named_step kSteps[] = {{step::malloc_each, "malloc_each"},
                                 {step::malloc_async, "malloc_async"},
                                 {step::kept_pool, "kept_pool"},
                                 {step::two_streams, "two_streams"}};

bool has_own_pool(step version) {
  return version == step::kept_pool || version == step::two_streams;
}

numbers numbers_for(const sizes& lengths, std::uint64_t seed) {
  return lab::random_words(std::accumulate(lengths.begin(), lengths.end(), std::size_t{0}), seed);
}

::testing::AssertionResult is_right(step version, const sizes& lengths, int batch,
                                    std::uint64_t seed) {
  const numbers values = numbers_for(lengths, seed);
  return matches(lab::compare_exact(smooth(version, values, lengths, batch).values,
                                    reference(values, lengths)));
}

// --- who does the work ---------------------------------------------------------------------------

/// How often these functions were called, all together.
unsigned calls_of(const lab::testing::work& done, std::initializer_list<const char*> names) {
  unsigned count = 0;
  for (const char* name : names)
    if (const auto it = done.calls.find(name); it != done.calls.end()) count += it->second;
  return count;
}

/// How often the host polls until something has finished: a loop of queries counts as one wait.
unsigned waits_by_asking(const lab::testing::work& done) {
  unsigned count = 0;
  std::string before;
  for (const std::string& call : done.sequence) {
    if (call != before && (call == "cudaStreamQuery" || call == "cudaEventQuery")) ++count;
    before = call;
  }
  return count;
}

/// How often the host waits until a copy has brought results, if these come a part at a time.
unsigned waits_by_copying(const lab::testing::work& done, std::size_t all_bytes) {
  const auto copies = static_cast<unsigned>(
      std::count(done.sequence.begin(), done.sequence.end(), "cudaMemcpy to the host"));
  std::size_t bytes = 0;
  for (const auto& copy : done.copies)
    if (copy.kind == cudaMemcpyDeviceToHost) {
      if (copy.bytes == all_bytes) return 0;  // all of them, at the end
      bytes += copy.bytes;
    }
  return bytes >= all_bytes ? copies : 0;
}

/// How often memory is given to cudaFree although the host has not waited since the last launch.
unsigned frees_without_a_wait(const lab::testing::work& done) {
  unsigned count = 0;
  bool may_run = false;
  for (const std::string& call : done.sequence) {
    if (call == "cudaLaunchKernel") may_run = true;
    if (call.ends_with("Synchronize") || call.ends_with("Query") ||
        call == "cudaMemcpy to the host")
      may_run = false;
    if (call == "cudaFree" && may_run) ++count;
  }
  return count;
}

/// Whether there is an allocation for each job, with as many bytes as its values need, or those
/// rounded up to the units of 512 bytes in which pools hand out memory.
bool has_memory_for_each(const lab::testing::work& done, sizes lengths) {
  sizes allocated = done.device_memory;
  std::sort(allocated.begin(), allocated.end(), std::greater<>());
  std::sort(lengths.begin(), lengths.end(), std::greater<>());
  // The largest allocation is that of the values themselves.
  for (std::size_t i = 0; i < lengths.size(); ++i)
    if (i + 1 >= allocated.size() || allocated[i + 1] < lengths[i] * sizeof(std::uint32_t) ||
        allocated[i + 1] > lengths[i] * sizeof(std::uint32_t) + 511)
      return false;
  return true;
}

struct plan {
  sizes lengths;
  int batch;
};

REQUIRED_WORK(MemoryForEachJobAndOneWaitForEachBatch) {
  // The given code also waits a few times: eight batches are enough to tell the difference.
  const plan plans[] = {{{700}, 1},
                        {{700, 300, 555, 640, 257, 260, 280, 270}, 1},
                        {{700, 300, 555, 640, 801}, 3},
                        {{257, 500, 300, 290, 444, 280, 310}, 7},
                        {{900, 260, 700, 300, 300, 300, 512, 400, 333}, 100},
                        {{1}, 1},
                        {{40, 3, 1, 7, 31, 33, 100, 2}, 1},
                        {{40, 3, 1, 7, 31, 33, 100, 2}, 3},
                        {{9000, 2, 20'000, 200, 1}, 2}};
  for (const auto& [version, name] : kSteps)
    for (const plan& p : plans) {
      const numbers values = numbers_for(p.lengths, 2);
      const auto done =
          work_of([&, version = version] { return is_right(version, p.lengths, p.batch, 2); });
      const auto jobs = static_cast<unsigned>(p.lengths.size());
      const auto batch = static_cast<unsigned>(p.batch), batches = (jobs + batch - 1) / batch;
      const std::size_t longest = *std::ranges::max_element(p.lengths);
      EXPECT_TRUE(as_required(done, {.threads = std::clamp<std::size_t>(longest / 4, 1, 256),
                                     .blocks = longest > 256 ? 2U : 1U,
                                     .kernels = 2 * jobs,
                                     .sent = bytes_of(values),
                                     .fetched = bytes_of(values),
                                     .streams = version == step::two_streams ? 2U : 1U,
                                     .reads = 2 * bytes_of(values),
                                     .writes = 2 * bytes_of(values)}))
          << name;
      if (done.values && !*done.values) continue;  // said
      EXPECT_TRUE(has_memory_for_each(done, p.lengths))
          << name << ": each job needs memory of its own, with as many bytes as its values";
      EXPECT_EQ(done.not_accessed, 0U)
          << name << ": the passes do not use all of the memory that is allocated";
      EXPECT_TRUE(calls_of(done, {"cudaDeviceSetMemPool"}) == 0 ||
                  calls_of(done, {"cudaDeviceGetMemPool"}) != 0)
          << name << ": to restore the pool that was current before, ask for it first";
      const unsigned plain = calls_of(done, {"cudaMalloc"}),
                     ordered = calls_of(done, {"cudaMallocAsync", "cudaMallocFromPoolAsync"});
      if (version == step::malloc_each) {
        EXPECT_EQ(ordered, 0U) << name << ": this step allocates with cudaMalloc";
        EXPECT_GE(calls_of(done, {"cudaFree"}), jobs)
            << name << ": the memory of each job is freed";
        EXPECT_EQ(frees_without_a_wait(done), 0U)
            << name << ": memory is freed while kernels may still use it";
        continue;
      }
      EXPECT_EQ(ordered, jobs) << name << ": a stream-ordered allocation for each job";
      EXPECT_EQ(calls_of(done, {"cudaFreeAsync"}), jobs) << name << ": freed in stream order";
      EXPECT_LE(plain, 2U) << name << ": the jobs' memory must not come from cudaMalloc";
      const unsigned waits = calls_of(done, {"cudaStreamSynchronize", "cudaDeviceSynchronize",
                                             "cudaEventSynchronize"}) +
                             waits_by_asking(done);
      const unsigned of_results = waits_by_copying(done, bytes_of(values));
      EXPECT_GE(waits + of_results, batches) << name << ": the host waits after each batch";
      // Both streams of a batch, and what the end of two streams takes.
      EXPECT_LE(std::max(waits, of_results),
                (version == step::two_streams ? 2 * batches : batches) + 3)
          << name << ": the host waits after each batch only: " << batches << " batches";
      if (version == step::malloc_async) {
        EXPECT_EQ(calls_of(done, {"cudaMemPoolCreate", "cudaMemPoolSetAttribute",
                                  "cudaMemPoolTrimTo", "cudaDeviceGetDefaultMemPool"}),
                  0U)
            << name << ": this step must use the device's current pool as it is";
        continue;
      }
      EXPECT_GE(calls_of(done, {"cudaMemPoolTrimTo"}), 1U) << name << ": the pool is not trimmed";
      EXPECT_LE(calls_of(done, {"cudaMemPoolCreate"}), 1U) << name << ": one pool for all jobs";
    }
}

// --- every step, every length --------------------------------------------------------------------

using EachLength = lab::testing::each_step_and<named_step, std::size_t>;
INSTANTIATE_TEST_SUITE_P(Steps, EachLength,
                         ::testing::Combine(::testing::ValuesIn(kSteps),
                                            ::testing::Values(1, 2, 3, 31, 32, 33, 255, 256, 257,
                                                              511, 1021, 4097)),
                         lab::testing::by_step_and{"_of_"});

TEST_P(EachLength, IsSmoothedExactly) {
  const auto& [version, length] = GetParam();
  EXPECT_TRUE(is_right(version.value, {length}, 1, 3));
  EXPECT_TRUE(is_right(version.value, {length, 2 * length, 1, length, length + 1}, 2, 4));
}

// --- every step ----------------------------------------------------------------------------------

using EachStep = lab::testing::each_step<named_step>;
INSTANTIATE_TEST_SUITE_P(Steps, EachStep, ::testing::ValuesIn(kSteps), lab::testing::by_step);

TEST_P(EachStep, TakesAnyNumberOfJobsInBatchesOfAnySize) {
  for (const std::size_t jobs : {1, 2, 3, 4, 5, 8, 13})
    for (const int batch : {1, 2, 3, 5, 13, std::numeric_limits<int>::max()}) {
      sizes lengths;
      for (std::size_t i = 0; i < jobs; ++i) lengths.push_back(1 + 97 * i % 300);
      EXPECT_TRUE(is_right(version(), lengths, batch, 5))
          << jobs << " jobs in batches of " << batch;
    }
}

TEST_P(EachStep, TakesJobsWithoutValues) {
  EXPECT_TRUE(is_right(version(), {}, 1, 6));
  EXPECT_TRUE(is_right(version(), {0}, 1, 6));
  EXPECT_TRUE(is_right(version(), {0, 0, 0}, 2, 6));
  EXPECT_TRUE(is_right(version(), {0, 5, 0, 0, 300, 7, 0}, 2, 6));
  EXPECT_TRUE(is_right(version(), {5, 0, 0, 4}, 1, 6));
}

TEST_P(EachStep, SmoothsEachJobForItself) {
  // All bits of neighbours are set: a value that came from another job would show.
  const numbers values = {1, 0xFFFFFFFF, 2, 3, 0xFFFFFFFF, 4};
  EXPECT_EQ(smooth(version(), values, sizes{1, 1, 2, 1, 1}, 2).values,
            (numbers{4, 0xFFFFFFFC, 22, 23, 0xFFFFFFFC, 16}));
}

TEST_P(EachStep, TakesOneLongJobAmongShortOnes) {
  EXPECT_TRUE(is_right(version(), {3, 200'003, 5, 1, 70'001, 2}, 3, 7));
  EXPECT_TRUE(is_right(version(), {200'003, 1, 1, 1}, 4, 8));
}

TEST_P(EachStep, TakesManyJobs) {
  sizes lengths;
  for (const int n : lab::random_ints(300, 9, 0, 90))
    lengths.push_back(static_cast<std::size_t>(n));
  EXPECT_TRUE(is_right(version(), lengths, 32, 10));
}

TEST_P(EachStep, ForgetsThePreviousCall) {
  for (const std::size_t length : {900, 20, 900})
    EXPECT_TRUE(is_right(version(), {length, length / 2, 7}, 2, length));
}

TEST_P(EachStep, SaysWhatItsPoolKeeps) {
  const sizes lengths = {300, 2000, 100, 40'000, 50};
  const numbers values = numbers_for(lengths, 11);
  for (const int batch : {1, 2, 10}) {
    const result smoothed = smooth(version(), values, lengths, batch);
    EXPECT_TRUE(version() != step::malloc_each || smoothed.kept == 0);
    if (has_own_pool(version())) {
      EXPECT_GE(smoothed.kept, 40'000 * sizeof(std::uint32_t)) << "the longest job's memory";
      EXPECT_LT(smoothed.left, smoothed.kept) << "batches of " << batch;
    } else {
      EXPECT_EQ(smoothed.left, 0U);
    }
#ifdef __CPU_DEVICE__
    EXPECT_EQ(smoothed.left, 0U) << "batches of " << batch;
    EXPECT_TRUE(version() != step::malloc_async || smoothed.kept == 0) << "batches of " << batch;
#endif
  }
}

TEST(ThePool, KeepsMoreWithAThresholdThanWithout) {
  const sizes lengths = {300, 2000, 100, 40'000};
  const numbers values = numbers_for(lengths, 12);
  EXPECT_LT(smooth(step::malloc_async, values, lengths, 3).kept,
            smooth(step::kept_pool, values, lengths, 3).kept);
}

#ifdef __CPU_DEVICE__
TEST(ThePool, KeepsTheLongestJobsMemory) {
  constexpr std::uint64_t kPiece = kLongestJob * sizeof(std::uint32_t);
  const sizes lengths = {300, 200, 100};
  cpu_device::set_pool_piece(kPiece);
  for (const step version : {step::kept_pool, step::two_streams}) {
    const result smoothed = smooth(version, numbers_for(lengths, 19), lengths, 1);
    EXPECT_EQ(smoothed.kept, kPiece) << "a pool with the longest job's memory";
    EXPECT_EQ(smoothed.left, 0U);
  }
  cpu_device::set_pool_piece(1);
}

TEST(ThePool, KeepsNoMoreThanTwoJobsNeed) {
  // Work is done at once here, so what a job has freed is there for the next one.
  cpu_device::set_stream_policy(cpu_device::stream_policy::eager);
  const sizes lengths = {3000, 2000, 4000, 5000, 1000, 5000};
  const numbers values = numbers_for(lengths, 17);
  for (const step version : {step::kept_pool, step::two_streams})
    EXPECT_LE(smooth(version, values, lengths, 10).kept, 2 * 5000 * sizeof(std::uint32_t) + 1024)
        << "all jobs of a batch have memory at the same time";
}

REQUIRED_WORK(TwoJobsOfABatchHaveMemoryAtTheSameTime) {
  // The stream of the first passes runs as far ahead of the other one as the events allow.
  using cpu_device::stream_policy;
  int ahead = 0;
  for (const stream_policy policy : {stream_policy::newest_first, stream_policy::oldest_first})
    for (const std::size_t jobs : {6, 7}) {
      cpu_device::set_stream_policy(policy);
      const auto done = work_of([&] {
        return is_right(step::two_streams, sizes(jobs, 300), static_cast<int>(jobs), 18);
      });
      EXPECT_TRUE(as_required(done, {.kernels = 2 * jobs, .streams = 2})) << "two_streams";
      int jobs_with_memory = 0, most = 0;
      for (const auto& kernel : done.kernels) {
        jobs_with_memory += kernel.stream == done.kernels.front().stream ? 1 : -1;
        most = std::max(most, jobs_with_memory);
      }
      EXPECT_LE(most, 2) << "two_streams: the first passes run ahead of the second passes";
      EXPECT_LE(done.stream_ordered, 2U)
          << "two_streams: a job gets its memory before that of the job two before it is free";
      ahead = std::max(ahead, most);
    }
  EXPECT_EQ(ahead, 2) << "two_streams: a first pass waits for the second pass of the job before it";
}
#endif

TEST(ThePool, KeepsNothingWhereNothingWasAllocated) {
  for (const step version : {step::malloc_async, step::kept_pool, step::two_streams})
    for (const sizes& lengths : {sizes{}, sizes{0, 0}}) {
      const result nothing = smooth(version, numbers{}, lengths, 1);
      EXPECT_EQ(nothing.left, 0U);
      EXPECT_TRUE(!has_own_pool(version) || nothing.kept == 0);
    }
}

TEST_P(EachStep, SaysHowLongItTook) {
  const sizes lengths = {1000, 2000};
  EXPECT_TRUE(is_time_of(timed::with_copies, [&] {
    return smooth(version(), numbers_for(lengths, 13), lengths, 1).total_ms;
  }));
}

// --- refusals ------------------------------------------------------------------------------------

TEST_P(EachStep, RefusesJobsThatAreNotAllOfTheValues) {
  const numbers ten(10);
  const auto call = [&](const numbers& values, const sizes& lengths) {
    return smooth(version(), values, lengths, 2);
  };
  EXPECT_THROW(call(ten, {}), lab::invalid_input);
  EXPECT_THROW(call(ten, {0}), lab::invalid_input);
  EXPECT_THROW(call(ten, {5, 4}), lab::invalid_input);
  EXPECT_THROW(call(ten, {5, 6}), lab::invalid_input);
  EXPECT_THROW(call(ten, {10, 1}), lab::invalid_input);
  EXPECT_THROW(call({}, {1}), lab::invalid_input);
  EXPECT_THROW(call(ten, {kLongestJob + 1}), lab::invalid_input);
  // These add up to 10, modulo 2^64.
  constexpr std::size_t kHalf = std::size_t{1} << 63;
  EXPECT_THROW(call(ten, {kHalf, kHalf, 10}), lab::invalid_input);
  EXPECT_NO_THROW(call(ten, {3, 7}));
}

TEST_P(EachStep, RefusesBatchesWithoutJobs) {
  for (const int batch : {0, -1, std::numeric_limits<int>::min()}) {
    EXPECT_THROW(smooth(version(), numbers(3), sizes{1, 2}, batch), lab::invalid_input) << batch;
    EXPECT_THROW(smooth(version(), numbers{}, sizes{}, batch), lab::invalid_input) << batch;
  }
}

// --- the reference -------------------------------------------------------------------------------

TEST(Reference, AgreesWithJobsThatWereDoneByHand) {
  // 1 0 0 -> 2 1 0 -> 5 4 1, and 3 -> 6 -> 12.
  EXPECT_EQ(reference(numbers{1, 0, 0, 3}, sizes{3, 1}), (numbers{5, 4, 1, 12}));
  EXPECT_EQ(reference(numbers{3, 0, 0, 1}, sizes{1, 0, 3}), (numbers{12, 1, 4, 5}));
  EXPECT_EQ(reference(numbers{0x80000000, 0x40000001}, sizes{1, 1}), (numbers{0, 4}));
}

// --- errors --------------------------------------------------------------------------------------

FAULT_TEST_P(EachStep, ReportsEveryCallThatFails) {
  const sizes lengths = {300, 20, 5, 1, 40};
  const numbers values = numbers_for(lengths, 14);
  expect_failures_reported(
      [&] {
        return matches(lab::compare_exact(smooth(version(), values, lengths, 3).values,
                                          reference(values, lengths)));
      },
      values, lengths);
}

TEST_P(EachStep, IsRightAtTheProgramsSize) {
  expect_at_full_size([&] {
    sizes lengths;
    for (const int n :
         lab::random_ints(kDefaultJobs, 15, 1, 2 * static_cast<int>(kDefaultLength) - 1))
      lengths.push_back(static_cast<std::size_t>(n));
    return is_right(version(), lengths, kDefaultBatch, 16);
  });
}

}  // namespace
