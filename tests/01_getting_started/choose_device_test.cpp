// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "choose_device.hpp"

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "current_device.hpp"
#include "fault_tests.hpp"
#include "lab/cuda_check.hpp"
#include "lab/errors.hpp"
#include "lab/random.hpp"
#include "lab_testing.hpp"
#include "pretended_devices.hpp"
#include "recording.hpp"
#include "reference.hpp"
#include "required_work.hpp"

namespace {

using lab::choose_device::best;
using lab::choose_device::candidate;
using lab::choose_device::list_candidates;
using lab::choose_device::reference_best;
using lab::choose_device::requirement;
using lab::choose_device::select;
using lab::testing::current_device;
using lab::testing::expect_failures_reported;
using lab::testing::work_of;
using lab::testing::work_without_values;
using lab::testing::detail::before_call;

constexpr std::size_t kGiB = std::size_t{1} << 30;

int count_devices() {
  int count = 0;
  CUDA_CHECK(cudaGetDeviceCount(&count));
  return count;
}
int attribute(cudaDeviceAttr attr, int device) {
  int value = 0;
  CUDA_CHECK(cudaDeviceGetAttribute(&value, attr, device));
  return value;
}

/// A device that meets every requirement; each test changes what it is about.
candidate usual(int device) {
  return {.device = device,
          .compute_major = 8,
          .compute_minor = 6,
          .global_bytes = 8 * kGiB,
          .multiprocessors = 40,
          .clock_khz = 1'500'000,
          .compute_mode = cudaComputeModeDefault};
}

// --- who does the work ---------------------------------------------------------------------------

REQUIRED_WORK(TheRuntimesAnswers) {
  EXPECT_TRUE(as_required(
      work_without_values([] { list_candidates(); }),
      {.kernels = 0,
       .calls = {"cudaGetDeviceCount", "cudaGetDeviceProperties|cudaDeviceGetAttribute"}}));
  // A device that is the current one already may be left alone.
  const int before = current_device();
  EXPECT_TRUE(as_required(work_of([&] { return select(before) == before; }),
                          {.kernels = 0, .calls = {"cudaGetDevice"}}));
  // It is CUDA's answer that comes back, even where the device changes before each question.
  const int last = count_devices() - 1;
  const before_call meanwhile("cudaGetDevice", before_call::kEachTime,
                              [last] { (void)cudaSetDevice(last); });
  EXPECT_EQ(select(0), last);
  (void)cudaSetDevice(before);
}

// --- part 1 of the rule: who may be taken --------------------------------------------------------

TEST(Best, IsNobodyInAnEmptyList) { EXPECT_EQ(best({}, {}), std::nullopt); }

TEST(Best, IsTheOnlyOne) {
  const std::vector<candidate> list = {usual(0)};
  EXPECT_EQ(best(list, {}), 0);
}

TEST(Best, HasAtLeastTheComputeCapabilityNeeded) {
  const std::vector<candidate> list = {usual(3)};  // 8.6
  EXPECT_EQ(best(list, {.compute_major = 8, .compute_minor = 5}), 3);
  EXPECT_EQ(best(list, {.compute_major = 8, .compute_minor = 6}), 3);
  EXPECT_EQ(best(list, {.compute_major = 8, .compute_minor = 7}), std::nullopt);
  EXPECT_EQ(best(list, {.compute_major = 7, .compute_minor = 9}), 3) << "8.6 is more than 7.9";
  EXPECT_EQ(best(list, {.compute_major = 9, .compute_minor = 0}), std::nullopt)
      << "8.6 is less than 9.0";
}

TEST(Best, HasAtLeastTheMemoryNeeded) {
  const std::vector<candidate> list = {usual(3)};
  EXPECT_EQ(best(list, {.global_bytes = 8 * kGiB - 1}), 3);
  EXPECT_EQ(best(list, {.global_bytes = 8 * kGiB}), 3);
  EXPECT_EQ(best(list, {.global_bytes = 8 * kGiB + 1}), std::nullopt);
  EXPECT_EQ(best(list, {.global_bytes = std::numeric_limits<std::size_t>::max()}), std::nullopt);
}

TEST(Best, LetsUsIn) {
  std::vector<candidate> list = {usual(0), usual(1)};
  list[0].multiprocessors = 100;
  list[0].compute_mode = cudaComputeModeProhibited;
  EXPECT_EQ(best(list, {}), 1);
  list[1].compute_mode = cudaComputeModeProhibited;
  EXPECT_EQ(best(list, {}), std::nullopt);
  list[0].compute_mode = cudaComputeModeExclusiveProcess;  // exclusive, but this process may use it
  EXPECT_EQ(best(list, {}), 0);
}

TEST(Best, MayBeAWeakOneIfTheStrongOnesDoNotSuit) {
  std::vector<candidate> list = {usual(0), usual(1), usual(2), usual(3)};
  list[0].multiprocessors = 144;
  list[0].global_bytes = 7 * kGiB;
  list[1].multiprocessors = 132;
  list[1].compute_major = 7;
  list[2].multiprocessors = 3;
  EXPECT_EQ(best(std::span(list).first(3),
                 {.compute_major = 8, .compute_minor = 0, .global_bytes = 8 * kGiB}),
            2);
}

// --- part 2: the strongest -----------------------------------------------------------------------

TEST(Best, HasTheLargestProductOfMultiprocessorsAndClock) {
  std::vector<candidate> list = {usual(0), usual(1), usual(2)};
  list[0].multiprocessors = 30, list[0].clock_khz = 2'500'000;  // the highest clock: 75
  list[1].multiprocessors = 50, list[1].clock_khz = 1'600'000;  // 80
  list[2].multiprocessors = 78, list[2].clock_khz = 1'000'000;  // the most multiprocessors: 78
  EXPECT_EQ(best(list, {}), 1);
}

TEST(Best, IsNotTheNewestOrTheLargest) {
  std::vector<candidate> list = {usual(0), usual(1), usual(2)};
  list[0].compute_major = 12;
  list[1].multiprocessors = 41;
  list[2].global_bytes = 192 * kGiB;
  EXPECT_EQ(best(list, {}), 1);
}

TEST(Best, IsFoundWhereTheProductNeedsMoreThan32Bits) {
  std::vector<candidate> list = {usual(0), usual(1), usual(2)};
  list[0].multiprocessors = 1'000;  // 1.5 * 10^9 fits an int
  list[1].multiprocessors = 1'900;  // 2.85 * 10^9 fits an unsigned
  list[2].multiprocessors = 3'000;  // 4.5 * 10^9 fits neither; modulo 2^32 it is 0.2 * 10^9
  EXPECT_EQ(best(list, {}), 2);
  EXPECT_EQ(best(std::span(list).first(2), {}), 1);
}

TEST(Best, IsFoundWhereTheProductNeedsMoreDigitsThanADoubleHas) {
  std::vector<candidate> list = {usual(0), usual(1)};
  list[0].multiprocessors = list[0].clock_khz = 94'906'266;              // its square is above 2^53
  list[1].multiprocessors = 94'906'267, list[1].clock_khz = 94'906'265;  // 1 less than the square
  list[1].global_bytes = 9 * kGiB;                                       // were it a tie …
  EXPECT_EQ(best(list, {}), 0);
}

TEST(Best, CanDoWithoutAClock) {
  std::vector<candidate> list = {usual(0), usual(1)};
  list[0].multiprocessors = 200;
  list[0].clock_khz = 0;  // not told
  EXPECT_EQ(best(list, {}), 1);
  EXPECT_EQ(best(std::span(list).first(1), {}), 0) << "it is the only one";
}

// --- part 3: ties --------------------------------------------------------------------------------

TEST(Best, OfEquallyStrongOnesHasMoreMemory) {
  std::vector<candidate> list = {usual(0), usual(1), usual(2)};
  list[1].global_bytes = 8 * kGiB + 1;
  EXPECT_EQ(best(list, {}), 1);
  list[2].multiprocessors = 60, list[2].clock_khz = 1'000'000;  // the same product in another way
  list[2].global_bytes = 9 * kGiB;
  EXPECT_EQ(best(list, {}), 2);
}

TEST(Best, OfEqualOnesHasTheSmallestNumber) {
  EXPECT_EQ(best(std::vector{usual(0), usual(1), usual(2)}, {}), 0);
  EXPECT_EQ(best(std::vector{usual(7), usual(5), usual(6)}, {}), 5) << "wherever it is in the list";
  EXPECT_EQ(best(std::vector{usual(6), usual(7), usual(5)}, {}), 5);
}

// --- the whole rule ------------------------------------------------------------------------------

class RandomLists : public ::testing::TestWithParam<std::uint64_t> {};
INSTANTIATE_TEST_SUITE_P(Seed, RandomLists, ::testing::Values(1, 2, 3),
                         [](const auto& test) { return std::to_string(test.param); });

TEST_P(RandomLists, AreJudgedByTheRuleInAnyOrder) {
  lab::random_source random(GetParam());
  for (int round = 0; round < 300; ++round) {
    // Few different values, so that ties are frequent; the numbers are in no order.
    std::vector<candidate> list(static_cast<std::size_t>(random.integer(0, 6)));
    for (std::size_t i = 0; i < list.size(); ++i) {
      list[i] = {.device = static_cast<int>((5 * i + static_cast<std::size_t>(round)) % 7),
                 .compute_major = random.integer(7, 9),
                 .compute_minor = random.integer(0, 2),
                 .global_bytes = static_cast<std::size_t>(random.integer(1, 3)) * kGiB,
                 .multiprocessors = random.integer(1, 3),
                 .clock_khz = 1'000'000 * random.integer(0, 2),
                 .compute_mode = random.integer(0, 3)};
    }
    const requirement needed = {
        .compute_major = random.integer(6, 9),
        .compute_minor = random.integer(0, 2),
        .global_bytes = static_cast<std::size_t>(random.integer(0, 3)) * kGiB};
    const auto expected = reference_best(list, needed);
    ASSERT_EQ(best(list, needed), expected) << "in round " << round;
    std::reverse(list.begin(), list.end());
    ASSERT_EQ(best(list, needed), expected) << "in round " << round << ", reversed";
  }
}

// --- the devices that are here -------------------------------------------------------------------

TEST(Candidates, AreAllVisibleDevicesInOrder) {
  const auto list = list_candidates();
  ASSERT_EQ(list.size(), static_cast<std::size_t>(count_devices()));
  for (std::size_t i = 0; i < list.size(); ++i) EXPECT_EQ(list[i].device, static_cast<int>(i));
}

TEST(Candidates, HaveTheRuntimesOwnAnswers) {
  for (const candidate& one : list_candidates()) {
    const int device = one.device;
    EXPECT_EQ(one.compute_major, attribute(cudaDevAttrComputeCapabilityMajor, device));
    EXPECT_EQ(one.compute_minor, attribute(cudaDevAttrComputeCapabilityMinor, device));
    EXPECT_EQ(one.multiprocessors, attribute(cudaDevAttrMultiProcessorCount, device));
    EXPECT_EQ(one.clock_khz, attribute(cudaDevAttrClockRate, device));
    EXPECT_EQ(one.compute_mode, attribute(cudaDevAttrComputeMode, device));
    cudaDeviceProp properties{};
    CUDA_CHECK(cudaGetDeviceProperties(&properties, device));
    EXPECT_EQ(one.global_bytes, properties.totalGlobalMem);
  }
}

#ifdef __CPU_DEVICE__
TEST(Candidates, HaveAnswersOfTheirOwn) {  // which the devices of the CPU device do not have
  const int last = count_devices() - 1;
  if (last == 0) GTEST_SKIP() << "there is one device";
  const candidate before = list_candidates().front();
  const lab::testing::pretended_devices other(
      [](cudaDeviceProp& p) {
        ++p.major;
        ++p.minor;
        ++p.multiProcessorCount;
        p.totalGlobalMem += kGiB;
      },
      last);
  const auto list = list_candidates();
  EXPECT_EQ(list.front(), before);
  EXPECT_EQ(list.back().compute_major, before.compute_major + 1);
  EXPECT_EQ(list.back().compute_minor, before.compute_minor + 1);
  EXPECT_EQ(list.back().multiprocessors, before.multiprocessors + 1);
  EXPECT_EQ(list.back().global_bytes, before.global_bytes + kGiB);
}
#endif

TEST(Candidates, CanBeChosenFrom) {
  const auto list = list_candidates();
  EXPECT_EQ(best(list, {}), reference_best(list, {}));
  EXPECT_EQ(best(list, {.compute_major = 1000}), std::nullopt);
}

class Current : public ::testing::Test {
 protected:
  ~Current() override { (void)cudaSetDevice(before_); }

 private:
  const int before_ = current_device();
};

TEST_F(Current, StaysWhileCandidatesAreListed) {
  for (int device = count_devices() - 1; device >= 0; --device) {
    CUDA_CHECK(cudaSetDevice(device));
    (void)list_candidates();
    EXPECT_EQ(current_device(), device);
  }
}

TEST_F(Current, IsTheSelectedOne) {
  for (int device = count_devices() - 1; device >= 0; --device) {
    EXPECT_EQ(select(device), device);
    EXPECT_EQ(current_device(), device);
  }
}

TEST_F(Current, IsWhereMemoryComesFrom) {
  for (int device = count_devices() - 1; device >= 0; --device) {
    (void)select(device);
    void* memory = nullptr;
    CUDA_CHECK(cudaMalloc(&memory, 1024));
    cudaPointerAttributes attributes{};
    const cudaError_t status = cudaPointerGetAttributes(&attributes, memory);
    CUDA_CHECK(cudaFree(memory));
    ASSERT_EQ(status, cudaSuccess);
    EXPECT_EQ(attributes.device, device);
  }
}

TEST_F(Current, IsSelectedForOneThreadOnly) {
  const int last = count_devices() - 1;
  EXPECT_EQ(select(last), last);
  int elsewhere = -1;
  std::thread([&elsewhere] { (void)cudaGetDevice(&elsewhere); }).join();
  EXPECT_EQ(elsewhere, 0);
  EXPECT_EQ(current_device(), last);
}

TEST_F(Current, StaysWhenThereIsNoSuchDevice) {
  const int last = count_devices() - 1;
  EXPECT_EQ(select(last), last);
  constexpr int kLargest = std::numeric_limits<int>::max();
  for (const int device : {-kLargest - 1, -1, count_devices(), count_devices() + 1, kLargest}) {
    try {
      (void)select(device);
      ADD_FAILURE() << "device " << device << " was not refused";
    } catch (const lab::invalid_input& error) {
      EXPECT_NE(std::string(error.what()).find(std::to_string(device)), std::string::npos)
          << error.what();
    }
    EXPECT_EQ(current_device(), last);
    EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess)
        << "an error was left in the runtime: the next launch check would report it";
  }
}

FAULT_TEST(Candidates, ReportEveryCallThatFails) {
  expect_failures_reported([] { return list_candidates(); });
}

FAULT_TEST(Select, ReportsEveryCallThatFails) {
  expect_failures_reported([] { return select(0); });
}

}  // namespace
