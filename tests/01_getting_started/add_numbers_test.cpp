// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "add_numbers.hpp"

#include <cuda_runtime.h>
#ifdef __CPU_DEVICE__
#include <cpu_device.h>
#endif

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <limits>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "lab/cuda_check.hpp"
#include "lab/errors.hpp"
#include "lab/random.hpp"
#include "lab_testing.hpp"
#include "reference.hpp"
#include "required_work.hpp"

// That no device memory stays behind is checked after each test (see lab_testing.hpp).

namespace {

using lab::add_numbers::add;
using lab::add_numbers::reference;
using lab::add_numbers::step;
using lab::testing::is_refused_launch;
using lab::testing::work_of;

constexpr int kMost = std::numeric_limits<int>::max();
constexpr int kLeast = std::numeric_limits<int>::min();

const char* name_of(step which) { return which == step::by_hand ? "by_hand" : "owner"; }

// --- who does the work ---------------------------------------------------------------------------

REQUIRED_WORK(AKernelThatAdds) {
  for (const step which : {step::by_hand, step::owner})
    EXPECT_TRUE(as_required(work_of([&] { EXPECT_EQ(add(which, 2, 7), 9); }),
                            {.threads = 1, .fetched = sizeof(int), .writes = sizeof(int)}))
        << name_of(which);
}

class EachStep : public ::testing::TestWithParam<step> {
 protected:
  step which() const { return GetParam(); }
};
INSTANTIATE_TEST_SUITE_P(Steps, EachStep, ::testing::Values(step::by_hand, step::owner),
                         [](const auto& test) { return name_of(test.param); });

// --- sums ----------------------------------------------------------------------------------------

TEST_P(EachStep, AddsTheBooksNumbers) { EXPECT_EQ(add(which(), 2, 7), 9); }

TEST_P(EachStep, AddsZerosAndNegativeNumbers) {
  EXPECT_EQ(add(which(), 0, 0), 0);
  EXPECT_EQ(add(which(), 0, 5), 5);
  EXPECT_EQ(add(which(), 5, 0), 5);
  EXPECT_EQ(add(which(), -7, 3), -4);
  EXPECT_EQ(add(which(), 7, -3), 4);
  EXPECT_EQ(add(which(), -7, -3), -10);
}

TEST_P(EachStep, WrapsAroundWhereTheSumDoesNotFit) {
  EXPECT_EQ(add(which(), kMost, 0), kMost);
  EXPECT_EQ(add(which(), kLeast, 0), kLeast);
  EXPECT_EQ(add(which(), kMost, 1), kLeast);
  EXPECT_EQ(add(which(), kLeast, -1), kMost);
  EXPECT_EQ(add(which(), kMost, kMost), -2);
  EXPECT_EQ(add(which(), kLeast, kLeast), 0);
  EXPECT_EQ(add(which(), kMost, kLeast), -1);
}

TEST_P(EachStep, AddsWhatItIsGivenNow) {
  // The second sum must not be the first one's, left in memory that is given out again.
  EXPECT_EQ(add(which(), 10, 20), 30);
  EXPECT_EQ(add(which(), 1, 2), 3);
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
  const auto& [which, seed] = GetParam();
  const auto numbers = lab::random_ints(100, seed, kLeast, kMost);  // half of the sums wrap around
  for (std::size_t i = 0; i < numbers.size(); i += 2)
    EXPECT_EQ(add(which, numbers[i], numbers[i + 1]), reference(numbers[i], numbers[i + 1]))
        << numbers[i] << " + " << numbers[i + 1];
}

// --- the launch ----------------------------------------------------------------------------------

TEST_P(EachStep, NeedsOneThreadAndBearsMore) {
  for (const unsigned threads : {1U, 2U, 31U, 32U, 33U, 1023U, 1024U})
    EXPECT_EQ(add(which(), 40, 2, threads), 42) << "in a block of " << threads << " threads";
}

TEST_P(EachStep, SaysSoWhenCudaRefusesTheLaunch) {
  for (const unsigned threads : {0U, 1025U, 2000U, 4294967295U}) {
    try {
      const int sum = add(which(), 40, 2, threads);
      ADD_FAILURE() << "a block of " << threads << " threads gave " << sum;
    } catch (const lab::cuda_error& error) {
      EXPECT_TRUE(is_refused_launch(error.code())) << cudaGetErrorName(error.code());
      EXPECT_EQ(error.file(), "add_numbers.cu");
    }
    EXPECT_EQ(cudaGetLastError(), cudaSuccess) << "the next check of a launch would find it";
  }
}

TEST_P(EachStep, WorksAgainAfterARefusedLaunch) {
  EXPECT_THROW(add(which(), 1, 2, 2000), lab::cuda_error);
  EXPECT_EQ(add(which(), 3, 4), 7);
}

// --- the memory is full: in another process, whose device has one mebibyte -----------------------
// Only the CPU device: what a GPU has cannot be chosen, and it gives memory out in larger pieces.

#ifdef __CPU_DEVICE__

[[noreturn]] void add_with_room_for(std::size_t bytes, step which) {
  try {
    std::size_t free_bytes = 0, total_bytes = 0;
    CUDA_CHECK(cudaMemGetInfo(&free_bytes, &total_bytes));
    void* the_rest = nullptr;
    CUDA_CHECK(cudaMalloc(&the_rest, free_bytes - bytes));
    const std::size_t before = cpu_device::live_allocations();
    try {
      std::fprintf(stderr, "RESULT %d", add(which, 40, 2));
    } catch (const lab::cuda_error& error) {
      std::fprintf(stderr, "RESULT %s in %s", cudaGetErrorName(error.code()), error.file().c_str());
    }
    std::fprintf(stderr, ", %zu left behind, then %s\n", cpu_device::live_allocations() - before,
                 cudaGetErrorName(cudaGetLastError()));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "RESULT %s\n", error.what());
  }
  std::fflush(stderr);
  std::_Exit(0);
}

class FullMemoryDeathTest : public EachStep {
 protected:
  void SetUp() override {
    GTEST_FLAG_SET(death_test_style, "threadsafe");  // a new process, which looks at this:
    ASSERT_EQ(setenv("CPU_DEVICE_MEMORY_MB", "1", 1), 0);
  }
  void TearDown() override { unsetenv("CPU_DEVICE_MEMORY_MB"); }
};
INSTANTIATE_TEST_SUITE_P(Steps, FullMemoryDeathTest, ::testing::Values(step::by_hand, step::owner),
                         [](const auto& test) { return name_of(test.param); });

TEST_P(FullMemoryDeathTest, LeavesNothingBehind) {
  // An owner's allocations are those of device_buffer.
  const std::string file = which() == step::by_hand ? "add_numbers.cu" : "device_buffer.hpp";
  const std::string refused =
      "RESULT cudaErrorMemoryAllocation in " + file + ", 0 left behind, then cudaSuccess";
  // Two numbers are 8 bytes, their sum is 4.
  EXPECT_EXIT(add_with_room_for(7, which()), ::testing::ExitedWithCode(0), refused);
  EXPECT_EXIT(add_with_room_for(11, which()), ::testing::ExitedWithCode(0), refused);
  EXPECT_EXIT(add_with_room_for(12, which()), ::testing::ExitedWithCode(0),
              "RESULT 42, 0 left behind, then cudaSuccess");
}

#endif

}  // namespace
