// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "add_numbers.hpp"

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "fault_tests.hpp"
#include "lab/cuda_check.hpp"
#include "lab/errors.hpp"
#include "lab/random.hpp"
#include "lab_testing.hpp"
#include "reference.hpp"
#include "required_work.hpp"

// After each test, lab_testing.hpp checks that all device memory has been freed.

namespace {

using lab::add_numbers::add;
using lab::add_numbers::reference;
using lab::add_numbers::step;
using lab::testing::at_other_sizes;
using lab::testing::expect_failures_reported;
using lab::testing::is_refused_launch;
using lab::testing::work_of;
using lab::testing::work_without_values;

constexpr int kMost = std::numeric_limits<int>::max();
constexpr int kLeast = std::numeric_limits<int>::min();

const char* name_of(step version) { return version == step::by_hand ? "by_hand" : "owner"; }

// --- who does the work ---------------------------------------------------------------------------

REQUIRED_WORK(AKernelThatAdds) {
  for (const step version : {step::by_hand, step::owner})
    EXPECT_TRUE(at_other_sizes([=](int n) { return add(version, n, 7) == n + 7; },
                               {.threads = 1, .fetched = sizeof(int), .writes = sizeof(int)}))
        << name_of(version);
}

REQUIRED_WORK(AKernelThatAddsWhateverTheNumbersAre) {
  for (const step version : {step::by_hand, step::owner})
    for (const auto& [a, b] : {std::pair{7, 0}, {0, 7}, {7, 7}, {-7, 2}, {-7, -7}})
      EXPECT_TRUE(as_required(work_of([=, a = a, b = b] { return add(version, a, b) == a + b; }),
                              {.threads = 1, .fetched = sizeof(int), .writes = sizeof(int)}))
          << name_of(version) << ": " << a << " + " << b;
  // (A sum of 0 is what is there if nothing comes back, which says nothing of the host then.)
  for (const step version : {step::by_hand, step::owner})
    for (const int a : {0, 7})
      EXPECT_TRUE(as_required(work_without_values([=] { EXPECT_EQ(add(version, a, -a), 0); }),
                              {.threads = 1, .fetched = sizeof(int), .writes = sizeof(int)}))
          << name_of(version) << ": " << a << " + " << -a;
}

REQUIRED_WORK(NumbersThatAreSentAndNotTheirSum) {
  // (Numbers may also reach the kernel as its arguments.)
  for (const step version : {step::by_hand, step::owner}) {
    const auto sent = [=](int a, int b) {
      return work_of([=] { return add(version, a, b) == a + b; }).went_there();
    };
    const auto one = sent(7, 2), other = sent(4, 5);
    EXPECT_TRUE(one.empty() || one != other) << name_of(version) << ": the host has added";
  }
}

REQUIRED_WORK(AKernelThatAddsWhatWrapsAround) {
  for (const step version : {step::by_hand, step::owner})
    EXPECT_TRUE(at_other_sizes([=](int n) { return add(version, kMost, n) == kLeast + (n - 1); },
                               {.threads = 1, .fetched = sizeof(int), .writes = sizeof(int)}))
        << name_of(version);
}

REQUIRED_WORK(ThreadZeroOfTheBlock) {
  for (const step version : {step::by_hand, step::owner}) {
    const lab::testing::work done = work_of([=] { return add(version, 40, 2, 64) == 42; });
    EXPECT_TRUE(as_required(done, {.threads = 1, .fetched = sizeof(int), .writes = sizeof(int)}))
        << name_of(version);
    for (const auto& kernel : done.kernels)
      EXPECT_EQ(kernel.last_thread, 0U)
          << name_of(version) << ": thread 0 does the work, and the others access nothing";
  }
}

REQUIRED_WORK(ALaunchThatOnlyCudaRefuses) {
  // The error is CUDA's answer, and not what the host knows about limits.
  for (const step version : {step::by_hand, step::owner})
    for (const unsigned threads : {0U, 2000U})
      EXPECT_TRUE(as_required(
          work_without_values([=] {  // (what is not written yet says so)
            try {
              add(version, 40, 2, threads);
              ADD_FAILURE() << name_of(version) << ": " << threads << " threads were not refused";
            } catch (const lab::cuda_error&) {
            }
          }),
          {.kernels = 0, .calls = {"cudaLaunchKernel|cudaLaunchCooperativeKernel"}}))
          << name_of(version);
}

class EachStep : public ::testing::TestWithParam<step> {
 protected:
  step version() const { return GetParam(); }
};
INSTANTIATE_TEST_SUITE_P(Steps, EachStep, ::testing::Values(step::by_hand, step::owner),
                         [](const auto& test) { return name_of(test.param); });

// --- sums ----------------------------------------------------------------------------------------

TEST_P(EachStep, AddsTheBooksNumbers) { EXPECT_EQ(add(version(), 2, 7), 9); }

TEST_P(EachStep, AddsZerosAndNegativeNumbers) {
  EXPECT_EQ(add(version(), 0, 0), 0);
  EXPECT_EQ(add(version(), 0, 5), 5);
  EXPECT_EQ(add(version(), 5, 0), 5);
  EXPECT_EQ(add(version(), -7, 3), -4);
  EXPECT_EQ(add(version(), 7, -3), 4);
  EXPECT_EQ(add(version(), -7, -3), -10);
}

TEST_P(EachStep, WrapsAroundWhereTheSumDoesNotFit) {
  EXPECT_EQ(add(version(), kMost, 0), kMost);
  EXPECT_EQ(add(version(), kLeast, 0), kLeast);
  EXPECT_EQ(add(version(), kMost, 1), kLeast);
  EXPECT_EQ(add(version(), kLeast, -1), kMost);
  EXPECT_EQ(add(version(), kMost, kMost), -2);
  EXPECT_EQ(add(version(), kLeast, kLeast), 0);
  EXPECT_EQ(add(version(), kMost, kLeast), -1);
}

TEST_P(EachStep, AddsWhatItIsGivenNow) {
  // The second result must not be the first one, left in memory that is allocated again.
  EXPECT_EQ(add(version(), 10, 20), 30);
  EXPECT_EQ(add(version(), 1, 2), 3);
}

class EachSeed : public ::testing::TestWithParam<std::tuple<step, std::uint64_t>> {};
INSTANTIATE_TEST_SUITE_P(Steps, EachSeed,
                         ::testing::Combine(::testing::Values(step::by_hand, step::owner),
                                            ::testing::Values(1, 2, 3)),
                         [](const auto& test) {
                           return std::string(name_of(std::get<0>(test.param))) + "_seed" +
                                  std::to_string(std::get<1>(test.param));
                         });

TEST_P(EachSeed, AddsRandomNumbers) {
  const auto& [version, seed] = GetParam();
  const auto numbers = lab::random_ints(100, seed, kLeast, kMost);  // half of the sums wrap around
  for (std::size_t i = 0; i < numbers.size(); i += 2)
    EXPECT_EQ(add(version, numbers[i], numbers[i + 1]), reference(numbers[i], numbers[i + 1]))
        << numbers[i] << " + " << numbers[i + 1];
}

// --- the launch ----------------------------------------------------------------------------------

TEST_P(EachStep, NeedsOneThreadAndBearsMore) {
  for (const unsigned threads : {1U, 2U, 31U, 32U, 33U, 1023U, 1024U})
    EXPECT_EQ(add(version(), 40, 2, threads), 42) << "in a block of " << threads << " threads";
}

TEST_P(EachStep, SaysSoWhenCudaRefusesTheLaunch) {
  for (const unsigned threads : {0U, 1025U, 2000U, 65'537U, 4294967295U}) {
    try {
      const int sum = add(version(), 40, 2, threads);
      ADD_FAILURE() << "a block of " << threads << " threads gave " << sum;
    } catch (const lab::cuda_error& error) {
      EXPECT_TRUE(is_refused_launch(error.code())) << cudaGetErrorName(error.code());
      EXPECT_EQ(error.file(), "add_numbers.cu");
    }
    EXPECT_EQ(cudaGetLastError(), cudaSuccess)
        << "an error was left in the runtime: the next launch check would report it";
  }
}

TEST_P(EachStep, WorksAgainAfterARefusedLaunch) {
  EXPECT_THROW(add(version(), 1, 2, 2000), lab::cuda_error);
  EXPECT_EQ(add(version(), 3, 4), 7);
}

FAULT_TEST_P(EachStep, ReportsEveryCallThatFails) {
  expect_failures_reported([&] { return add(version(), 2, 7); });
}

FAULT_TEST(ByHand, LooksAtEachErrorWhereItComesUp) {
  // An owner would throw from another file, and only print that it cannot free its memory.
  if (!lab::testing::detail::has_the_device())
    GTEST_SKIP() << "which calls fail is not ours to say";
  for (const char* function : {"cudaMalloc", "cudaMemcpy", "cudaFree"}) {
    const lab::testing::detail::next_call_fails fault(function, cudaErrorUnknown);
    try {
      const int sum = add(step::by_hand, 2, 7);
      ADD_FAILURE() << function << " failed, and add() returned " << sum;
    } catch (const lab::cuda_error& error) {
      EXPECT_EQ(error.code(), cudaErrorUnknown) << function;
      EXPECT_EQ(error.file(), "add_numbers.cu")
          << "where the failure of " << function << " came up";
    }
    EXPECT_TRUE(fault.has_failed()) << "step by_hand calls " << function << " itself";
  }
}

FAULT_TEST(Owner, IsADeviceBuffer) {
  if (!lab::testing::detail::has_the_device())
    GTEST_SKIP() << "which calls fail is not ours to say";
  const lab::testing::detail::next_call_fails fault("cudaMalloc", cudaErrorMemoryAllocation);
  try {
    const int sum = add(step::owner, 2, 7);
    ADD_FAILURE() << "cudaMalloc failed, and add() returned " << sum;
  } catch (const lab::cuda_error& error) {
    EXPECT_EQ(error.file(), "device_buffer.hpp") << "step owner: lab::device_buffer allocates";
  }
}

}  // namespace
