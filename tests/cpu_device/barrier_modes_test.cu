// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// barrier_mode::hardware: what it warns of, what CUDA leaves undefined, and what remains an error.
// For the CPU device only; hardware_barriers_test.cu has what CUDA documents.

#include <cooperative_groups.h>
#include <cpu_device.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <string>

#include "child_process.hpp"
#include "cpu_device_testing.hpp"
#include "run_tests.hpp"

namespace {

using cpu_device::barrier_mode;
using cpu_device_testing::device_array;

class BarrierModes : public ::testing::Test {
 protected:
  BarrierModes() { cpu_device::set_barrier_mode(barrier_mode::hardware); }
  ~BarrierModes() override { cpu_device::set_barrier_mode(barrier_mode::strict); }
};

/// What the CPU device prints while a launch runs that must succeed.
template <class Launch>
std::string warnings_of(Launch launch) {
  const std::size_t reports = cpu_device::report_count();
  ::testing::internal::CaptureStderr();
  launch();
  const cudaError_t status = cudaDeviceSynchronize();
  const std::string text = ::testing::internal::GetCapturedStderr();
  EXPECT_EQ(status, cudaSuccess) << text;
  EXPECT_EQ(cpu_device::report_count(), reports) << text;
  return text;
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

constexpr int kFirstArm = __LINE__ + 5, kSecondArm = kFirstArm + 3;
__global__ void two_arms(int* out) {
  __shared__ int values[64];
  if (threadIdx.x < 32) {
    values[threadIdx.x] = 1 + static_cast<int>(threadIdx.x);
    __syncthreads();
  } else {
    values[threadIdx.x] = 100 + static_cast<int>(threadIdx.x);
    __syncthreads();
  }
  out[threadIdx.x] = values[63 - threadIdx.x];
}

TEST_F(BarrierModes, ArrivalsInTwoArmsOfAnIfCountTogether) {
  const device_array<int> out(64, 0);
  const std::string text = warnings_of([&] { two_arms<<<4, 64>>>(out.data()); });
  EXPECT_EQ(out.to_host()[0], 163);
  EXPECT_EQ(out.to_host()[63], 1);
  EXPECT_TRUE(contains(text, "warning: barrier divergence in kernel two_arms")) << text;
  for (const int line : {kFirstArm, kSecondArm})
    EXPECT_TRUE(contains(text, "barrier_modes_test.cu:" + std::to_string(line))) << text;
  EXPECT_TRUE(contains(text, "undefined")) << text;
  EXPECT_EQ(text.find("warning"), text.rfind("warning")) << text;  // four blocks, one place
  EXPECT_EQ(warnings_of([&] { two_arms<<<1, 64>>>(out.data()); }), "");
}

constexpr int kLeftLine = __LINE__ + 3;
__global__ void leave_before_the_barrier() {
  if (threadIdx.x >= 10) return;
  __syncthreads();
}

TEST_F(BarrierModes, WarnOnceOfThreadsThatHaveLeft) {
  const std::string text = warnings_of([] { leave_before_the_barrier<<<3, 48>>>(); });
  EXPECT_TRUE(contains(text, "10 threads (0-9) wait in __syncthreads() at barrier_modes_test.cu:" +
                                 std::to_string(kLeftLine)))
      << text;
  EXPECT_TRUE(contains(text, "38 threads (10-47) have left the kernel")) << text;
  EXPECT_EQ(text.find("warning"), text.rfind("warning")) << text;
  EXPECT_EQ(warnings_of([] { leave_before_the_barrier<<<3, 48>>>(); }), "");
}

__global__ void every_second_leaves() {
  if (threadIdx.x % 2 != 0) return;
  __syncthreads();
}

TEST_F(BarrierModes, NameEightThreadsOfMany) {
  const std::string text = warnings_of([] { every_second_leaves<<<1, 48>>>(); });
  EXPECT_TRUE(contains(text, "24 threads (0, 2, 4, 6, 8, 10, 12, 14, …) wait in ")) << text;
  EXPECT_TRUE(contains(text, "24 threads (1, 3, 5, 7, 9, 11, 13, 15, …) have left the kernel"))
      << text;
}

constexpr int kWarpLine = __LINE__ + 3;
__global__ void leave_before_the_warp_meets() {
  if (threadIdx.x == 33) return;
  __syncwarp();
}

TEST_F(BarrierModes, WarnOnceOfLanesThatHaveLeft) {
  const std::string text = warnings_of([] { leave_before_the_warp_meets<<<2, 64>>>(); });
  EXPECT_TRUE(contains(text, "__syncwarp at barrier_modes_test.cu:" + std::to_string(kWarpLine) +
                                 " names lanes that have left the kernel (mask 0xffffffff, threads "
                                 "33)"))
      << text;
  EXPECT_EQ(text.find("warning"), text.rfind("warning")) << text;
}

__global__ void one_more_barrier() {
  __syncthreads();
  if (threadIdx.x < 5) __syncthreads();
}

TEST_F(BarrierModes, HoldForTheLaunchesThatFollow) {
  EXPECT_FALSE(warnings_of([] { one_more_barrier<<<1, 40>>>(); }).empty());
  cpu_device::set_barrier_mode(barrier_mode::strict);
  const std::string text = cpu_device_testing::expect_report([] { one_more_barrier<<<1, 40>>>(); },
                                                             cudaErrorLaunchFailure);
  EXPECT_TRUE(contains(text, "5 threads (0-4) wait in __syncthreads()")) << text;
}

// A lane that waits elsewhere has not left: a GPU hangs here.
__global__ void wait_for_each_other() {
  if (threadIdx.x == 3)
    __syncthreads();
  else
    __syncwarp();
}

TEST_F(BarrierModes, WhatHangsOnAGpuStaysAnError) {
  const std::string text = cpu_device_testing::expect_report(
      [] { wait_for_each_other<<<1, 32>>>(); }, cudaErrorLaunchFailure);
  EXPECT_TRUE(contains(text, "31 threads (0-2, 4-31) wait in __syncwarp")) << text;
  EXPECT_TRUE(contains(text, "1 thread (3) waits in __syncthreads()")) << text;
}

__global__ void skip_the_grid() {
  if (threadIdx.x != 2) cooperative_groups::this_grid().sync();
}

TEST_F(BarrierModes, TheGridsBarrierStaysStrict) {
  const std::string text = cpu_device_testing::expect_report(
      [] { cudaLaunchCooperativeKernel((void*)skip_the_grid, 2, 8, nullptr); },
      cudaErrorLaunchFailure);
  EXPECT_TRUE(contains(text, "7 threads (0-1, 3-7) wait in this_grid().sync()")) << text;
  EXPECT_TRUE(contains(text, "1 thread (2) has left the kernel")) << text;
}

TEST(BarrierModesOfAProgram, AreReadFromTheEnvironment) {
  EXPECT_EQ(child_process::run("CPU_DEVICE_BARRIERS=hardware", "barrier 2>/dev/null").output,
            "0\n");
  EXPECT_EQ(child_process::run("CPU_DEVICE_BARRIERS=strict", "barrier 2>/dev/null").output,
            std::to_string(cudaErrorLaunchFailure) + "\n");
  EXPECT_EQ(child_process::run("CPU_DEVICE_BARRIERS=", "barrier 2>/dev/null").output,
            std::to_string(cudaErrorLaunchFailure) + "\n");
  EXPECT_TRUE(contains(child_process::run("CPU_DEVICE_BARRIERS=soft", "barrier 2>&1").output,
                       "CPU_DEVICE_BARRIERS=soft is ignored: it is strict or hardware."));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 3 && std::string(argv[1]) == "--child") {
    one_more_barrier<<<1, 40>>>();
    std::printf("%d\n", static_cast<int>(cudaDeviceSynchronize()));
    std::fflush(stdout);
    _exit(0);
  }
  return run_tests(argc, argv);
}
