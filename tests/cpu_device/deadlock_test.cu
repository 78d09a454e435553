// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Launches in which no thread can continue: the CPU device notices long before the time limit, and
// reports which threads wait where.

#include <cooperative_groups.h>
#include <cpu_device.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <string>

#include "cpu_device_testing.hpp"

namespace {

using cpu_device_testing::device_array;
using cpu_device_testing::expect_report;

// The same number of resident blocks on every machine. Before the first launch asks for it.
[[maybe_unused]] const int workers_are_few = setenv("CPU_DEVICE_WORKERS", "2", 1);

void expect_text(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << part << "\nis not in\n" << text;
}

__global__ void each_waits_for_the_other(volatile int* flags) {
  const int spin_line = __LINE__ + 1;
  while (flags[1 - blockIdx.x] == 0) {
  }
  flags[blockIdx.x] = spin_line;
}

TEST(Deadlock, TwoBlocksThatWaitForEachOther) {
  const device_array<int> flags(2, 0);
  const std::string text = expect_report([&] { each_waits_for_the_other<<<2, 1>>>(flags.data()); },
                                         cudaErrorLaunchTimeout);
  expect_text(text, "deadlock in kernel each_waits_for_the_other (launched at deadlock_test.cu:");
  expect_text(text, "2 blocks (0-1): 1 thread (0) waits in a loop at deadlock_test.cu:");
}

// It takes a second without progress. The time limit is 30 seconds; half of that leaves room for a
// busy machine.
TEST(Deadlock, IsReportedLongBeforeTheTimeLimit) {
  const device_array<int> flags(2, 0);
  const auto begin = std::chrono::steady_clock::now();
  const std::string text = expect_report([&] { each_waits_for_the_other<<<2, 1>>>(flags.data()); },
                                         cudaErrorLaunchTimeout);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  expect_text(text, "deadlock in kernel");
  EXPECT_LT(took.count(), 15.0) << "seconds";
}

__global__ void one_spins(volatile int* flag) {
  if (threadIdx.x == 3)
    while (*flag == 0) {
    }
  __syncthreads();
}

TEST(Deadlock, AThreadThatSpinsWhileTheOthersWaitAtABarrier) {
  const device_array<int> flag(1, 0);
  const std::string text =
      expect_report([&] { one_spins<<<1, 64>>>(flag.data()); }, cudaErrorLaunchTimeout);
  expect_text(text, "1 thread (3) waits in a loop at deadlock_test.cu:");
  expect_text(text, "63 threads (0-2, 4-63) wait in __syncthreads() at deadlock_test.cu:");
}

__global__ void crossed_locks(int* locks) {
  int* const first = locks + threadIdx.x;
  int* const second = locks + 1 - threadIdx.x;
  while (atomicCAS(first, 0, 1) != 0) {
  }
  __syncthreads();
  while (atomicCAS(second, 0, 1) != 0) {
  }
  atomicExch(second, 0);
  atomicExch(first, 0);
}

TEST(Deadlock, LocksTakenInDifferentOrders) {
  const device_array<int> locks(2, 0);
  const std::string text =
      expect_report([&] { crossed_locks<<<1, 2>>>(locks.data()); }, cudaErrorLaunchTimeout);
  expect_text(text, "block (0,0,0): 2 threads (0-1) wait in a loop at deadlock_test.cu:");
}

__global__ void wait_for_the_last_block(volatile int* flag) {
  if (blockIdx.x + 1 == gridDim.x) *flag = 1;
  while (*flag == 0) {
  }
}

TEST(Deadlock, AWaitForABlockThatIsNotResident) {
  const int blocks = static_cast<int>(cpu_device::worker_count()) * 32 + 5;
  const device_array<int> flag(1, 0);
  const std::string text = expect_report(
      [&] { wait_for_the_last_block<<<blocks, 8>>>(flag.data()); }, cudaErrorLaunchTimeout);
  expect_text(text, "5 blocks have not started");
  expect_text(text, std::to_string(blocks - 5) + " blocks (0-" + std::to_string(blocks - 6) +
                        "): 8 threads (0-7) wait in a loop");
}

__global__ void one_block_spins(volatile int* flag) {
  if (blockIdx.x == 1)
    while (*flag == 0) {
    }
  cooperative_groups::this_grid().sync();
}

TEST(Deadlock, ABlockThatSpinsWhileTheOthersWaitAtTheGridBarrier) {
  const device_array<int> flag(1, 0);
  volatile int* data = flag.data();
  void* arguments[] = {&data};
  const std::string text = expect_report(
      [&] {
        cudaLaunchCooperativeKernel(reinterpret_cast<void*>(one_block_spins), 3, 2, arguments);
      },
      cudaErrorLaunchTimeout);
  expect_text(text, "block (1,0,0): 2 threads (0-1) wait in a loop at deadlock_test.cu:");
  expect_text(text, "2 blocks (0, 2): 2 threads (0-1) wait in this_grid().sync() at");
}

__global__ void two_flags(volatile int* flags) {
  if (blockIdx.x == 0) {
    while (flags[0] == 0) {
    }
  } else {
    while (flags[0] == 0) __nanosleep(100);
  }
}

TEST(Deadlock, OneAfterTheOtherLeaveTheDeviceUsable) {
  std::size_t threads = 0;
  for (int i = 0; i < 2; ++i) {
    const device_array<int> flags(1, 0);
    expect_report([&] { two_flags<<<20, 2>>>(flags.data()); }, cudaErrorLaunchTimeout);
    std::ifstream status("/proc/self/status");
    std::string word;
    std::size_t now = 0;
    while (status >> word)
      if (word == "Threads:") status >> now;
    if (i == 0) threads = now;
    EXPECT_EQ(now, threads);
  }
  const device_array<int> set(1, 1);
  two_flags<<<20, 2>>>(set.data());
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
}

}  // namespace
