// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include "lab/time_kernel.hpp"

#include <cuda_runtime.h>
#include <gtest/gtest.h>
#ifdef __CPU_DEVICE__
#include <cpu_device.h>
#endif

#include <stdexcept>
#include <string>
#include <vector>

#include "lab/command_line.hpp"
#include "lab/cuda_check.hpp"
#include "lab/device_buffer.hpp"
#include "lab/device_limits.hpp"
#include "lab_testing.hpp"

namespace {

const lab::testing::device_may_change kByDesign;  // a program chooses its device
const lab::testing::timed_once kCounted;          // cases here count the launches

using lab::repeated_timing;
using lab::time_kernel;

constexpr std::size_t kBytes = 1 << 16;

/// Work for the device that needs no kernel: sets bytes, and counts how often it was asked to.
struct counted_work {
  lab::device_buffer<unsigned char> data{kBytes};
  int calls = 0;
  void run() {
    ++calls;
    CUDA_CHECK(cudaMemsetAsync(data.data(), calls, kBytes));
  }
};

TEST(TimeKernel, RunsTheWorkOnceInATest) {
  counted_work work;
  const float ms = time_kernel([&] { work.run(); });
  EXPECT_GT(ms, 0);
  EXPECT_EQ(work.calls, 1);
  EXPECT_EQ(work.data.to_vector().back(), 1);
}

TEST(TimeKernel, RestoresBeforeTheWork) {
  std::string order;
  (void)time_kernel([&] { order += "w"; }, [&] { order += "r"; });
  EXPECT_EQ(order, "rw");
}

TEST(TimeKernel, TakesAsManySamplesAsAreAskedFor) {
  counted_work work;
  const repeated_timing repeated(5);
  const float ms = time_kernel([&] { work.run(); });
  ASSERT_EQ(repeated.timings().size(), 1U);
  const lab::timing& timing = repeated.timings().front();
  EXPECT_EQ(timing.runs, 5U);
  EXPECT_FLOAT_EQ(ms, static_cast<float>(timing.median_ms));
  EXPECT_LE(timing.min_ms, timing.median_ms);
  EXPECT_LE(timing.median_ms, timing.max_ms);
  // One to warm up; on a GPU, several a sample.
  if (lab::on_cpu_device())
    EXPECT_EQ(work.calls, 1 + 5);
  else
    EXPECT_GT(work.calls, 1 + 5);
}

TEST(TimeKernel, RestoresBeforeEverySample) {
  std::string order;
  const repeated_timing repeated(4);
  (void)time_kernel([&] { order += "w"; }, [&] { order += "r"; });
  EXPECT_EQ(order, "rwrwrwrwrw");
}

TEST(TimeKernel, MeasuresEachKernelByItself) {
  counted_work first, second;
  const repeated_timing repeated(3);
  (void)time_kernel([&] { first.run(); });
  (void)time_kernel([&] { second.run(); });
  EXPECT_EQ(repeated.timings().size(), 2U);
}

TEST(TimeKernel, WorksWhereTheHostWaitsForTheDeviceInBetween) {
  counted_work work;
  const repeated_timing repeated(3);
  (void)time_kernel([&] {
    work.run();
    CUDA_CHECK(cudaDeviceSynchronize());
    work.run();
  });
  EXPECT_EQ(repeated.timings().front().runs, 3U);
}

TEST(TimeKernel, NamesTheLineOfALaunchThatIsRefused) {
  const int line = __LINE__ + 2;
  try {
    (void)time_kernel([] { (void)cudaSetDevice(-1); });
    FAIL() << "nothing was thrown";
  } catch (const lab::cuda_error& error) {
    EXPECT_EQ(error.code(), cudaErrorInvalidDevice);
    EXPECT_EQ(error.file(), "time_kernel_test.cpp");
    EXPECT_EQ(error.line(), line);
  }
}

TEST(TimeKernel, IsRightAgainAfterAFailure) {
  counted_work work;
  {
    const repeated_timing repeated(3);
    int calls = 0;
    EXPECT_THROW((void)time_kernel([&] {
                   if (++calls == 3) throw std::runtime_error("the third one");
                 }),
                 std::runtime_error);
    EXPECT_TRUE(repeated.timings().empty());
  }
  (void)time_kernel([&] { work.run(); });
  EXPECT_EQ(work.calls, 1);
}

TEST(TimeKernel, HasDoneTheWorkWhenAFailureLeavesIt) {
  // Otherwise the caller's destructors would destroy what the device still uses.
  bool done = false;
#ifdef __CPU_DEVICE__
  cpu_device::set_stream_policy(cpu_device::stream_policy::deferred);
#endif
  EXPECT_THROW((void)time_kernel([&] {
                 CUDA_CHECK(cudaLaunchHostFunc(
                     nullptr, [](void* flag) { *static_cast<bool*>(flag) = true; }, &done));
                 throw std::runtime_error("after a launch");
               }),
               std::runtime_error);
  EXPECT_TRUE(done);
}

TEST(RepeatedTiming, RefusesANegativeNumberOfSamples) {
  EXPECT_THROW(repeated_timing none(-1), std::logic_error);
}

TEST(RepeatedTiming, LaunchesOnceForNoSamples) {
  const repeated_timing two(2), none(0);
  int calls = 0;
  (void)time_kernel([&] { ++calls; });
  EXPECT_EQ(calls, 1);
  EXPECT_TRUE(two.timings().empty() && none.timings().empty());
}

TEST(RepeatedTiming, IsReplacedByANewerOneUntilThatEnds) {
  const repeated_timing outer(1);
  {
    const repeated_timing inner(3);
    (void)time_kernel([] {}, [] {});
    EXPECT_EQ(inner.timings().at(0).runs, 3U);
  }
  (void)time_kernel([] {}, [] {});
  ASSERT_EQ(outer.timings().size(), 1U);
  EXPECT_EQ(outer.timings().front().runs, 1U);
}

/// The output of a program that reports `run_once` with --repeat 4.
std::string report(const std::function<float()>& run_once) {
  lab::program program("timed", "Reports a time.");
  testing::internal::CaptureStdout();
  const char* const argv[] = {"timed", "--repeat", "4"};
  const int code = program.run(3, argv, [&] {
    (void)program.report_kernel(run_once);
    return true;
  });
  EXPECT_EQ(code, lab::kExitRight);
  return testing::internal::GetCapturedStdout();
}

TEST(ReportKernel, CallsOnceWhatIsTimedByTimeKernel) {
  counted_work work;
  int calls = 0;
  const std::string text = report([&] {
    ++calls;
    return time_kernel([&] { work.run(); });
  });
  EXPECT_EQ(calls, 1);
  EXPECT_NE(text.find("median of 4, "), std::string::npos) << text;
}

TEST(ReportKernel, CallsOftenWhatHasItsOwnTimer) {
  int calls = 0;
  const std::string text = report([&] { return static_cast<float>(++calls); });
  EXPECT_EQ(calls, 1 + 4);
  EXPECT_NE(text.find("kernel: 3.500 ms (median of 4, 2.000 to 5.000)"), std::string::npos) << text;
}

}  // namespace
