// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Launches that never end: the watchdog stops them and says where they were. The limit is for
// launches without progress.

#include <cpu_device.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <string>

#include "cpu_device_testing.hpp"

namespace {

using cpu_device_testing::device_array;
using cpu_device_testing::expect_report;

// Before the first launch asks for it.
[[maybe_unused]] const int limit_is_short = setenv("CPU_DEVICE_TIME_LIMIT", "0.2", 1);

__global__ void spin(const volatile int* flag, int* out) {
  while (*flag == 0) {
  }
  *out = 1;
}

TEST(TimeLimit, StopsALoopWithoutEnd) {
  const device_array<int> flag(1, 0), out(1, 0);
  const std::string text =
      expect_report([&] { spin<<<4, 1>>>(flag.data(), out.data()); }, cudaErrorLaunchTimeout);
  EXPECT_NE(text.find("stopped kernel spin (launched at time_limit_test.cu:"), std::string::npos)
      << text;
  EXPECT_NE(text.find("near time_limit_test.cu:"), std::string::npos) << text;
  EXPECT_NE(text.find("more than 0.2 s"), std::string::npos) << text;
}

TEST(TimeLimit, IsLongerWhereBlocksAreLeftOut) {
  const device_array<int> flag(1, 0), out(1, 0);
  cpu_device::set_blocks_that_run(1, 1);
  const std::string text =
      expect_report([&] { spin<<<4, 1>>>(flag.data(), out.data()); }, cudaErrorLaunchTimeout);
  cpu_device::set_blocks_that_run();
  EXPECT_NE(text.find("more than 0.8 s"), std::string::npos) << text;
}

__global__ void barriers_for_ever(const volatile int* flag) {
  while (*flag == 0) __syncthreads();
}

TEST(TimeLimit, NamesTheBarrierOfALoopThroughBarriers) {
  const device_array<int> flag(1, 0);
  const std::string text =
      expect_report([&] { barriers_for_ever<<<1, 64>>>(flag.data()); }, cudaErrorLaunchTimeout);
  EXPECT_NE(text.find("last waited in __syncthreads() at time_limit_test.cu:"), std::string::npos)
      << text;
}

/// `half` stays 0.
constexpr int kLoopLine = __LINE__ + 7;
__global__ void halve_for_ever(float* out) {
  __shared__ float cache[64];
  cache[threadIdx.x] = 1;
  __syncthreads();
  for (int half = static_cast<int>(blockDim.x) / 2; half >= 0; half /= 2) {
    if (static_cast<int>(threadIdx.x) < half) cache[threadIdx.x] += cache[threadIdx.x + half];
    __syncthreads();
  }
  out[0] = cache[0];
}

TEST(TimeLimit, IsNotPutOffByBarriersThatFindNothingNew) {
  const device_array<float> out(1, 0);
  const auto begin = std::chrono::steady_clock::now();
  const std::string text =
      expect_report([&] { halve_for_ever<<<40, 64>>>(out.data()); }, cudaErrorLaunchTimeout);
  // Those that count take twenty times the limit: four seconds.
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(3));
  EXPECT_NE(text.find("__syncthreads() at time_limit_test.cu:" + std::to_string(kLoopLine)),
            std::string::npos)
      << text;
}

__global__ void count_for_ever(unsigned* out) {
  for (unsigned i = 0;; ++i) {
    __syncthreads();
    if (i == *out) break;
    if (i == 0x7FFFFFFFU) i = 0;
  }
}

TEST(TimeLimit, EndsALoopThatCountsItsBarriers) {
  const device_array<unsigned> out(1, 0xFFFFFFFFU);
  const auto begin = std::chrono::steady_clock::now();
  const std::string text =
      expect_report([&] { count_for_ever<<<1, 64>>>(out.data()); }, cudaErrorLaunchTimeout);
  EXPECT_GT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(3));
  EXPECT_NE(text.find("last waited in __syncthreads() at time_limit_test.cu:"), std::string::npos)
      << text;
}

__global__ void toggle_for_ever(volatile int* out) {
  for (;;) *out = 1 - *out;
}
__global__ void add_for_ever(int* out) {
  for (;;) atomicAdd(out, 1);
}

TEST(TimeLimit, IsNotPutOffByMemoryThatComesBackToWhatItWas) {
  const device_array<int> out(1, 0);
  const auto begin = std::chrono::steady_clock::now();
  expect_report([&] { toggle_for_ever<<<1, 1>>>(out.data()); }, cudaErrorLaunchTimeout);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(3));
}
TEST(TimeLimit, EndsALoopThatCountsInMemory) {
  const device_array<int> out(1, 0);
  const auto begin = std::chrono::steady_clock::now();
  const std::string text =
      expect_report([&] { add_for_ever<<<1, 1>>>(out.data()); }, cudaErrorLaunchTimeout);
  // Not taken for a deadlock either, although its thread makes no progress.
  EXPECT_GT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(3));
  EXPECT_NE(text.find("made no progress"), std::string::npos) << text;
}

__global__ void go_on(cudaGraphConditionalHandle handle, int* left) {
  if (*left > 0) --*left;
  cudaGraphSetConditional(handle, *left != 0);
}
constexpr int kGoOnLine = __LINE__ - 2;

/// Launches a WHILE that begins with the value 1.
void run_while(void* kernel, int* left) {
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t exec = nullptr;
  cudaGraphNode_t node = nullptr;
  ASSERT_EQ(cudaGraphCreate(&graph, 0), cudaSuccess);
  cudaGraphNodeParams loop = {}, body = {};
  loop.type = cudaGraphNodeTypeConditional;
  loop.conditional.type = cudaGraphCondTypeWhile;
  loop.conditional.size = 1;
  ASSERT_EQ(cudaGraphConditionalHandleCreate(&loop.conditional.handle, graph, 1,
                                             cudaGraphCondAssignDefault),
            cudaSuccess);
  ASSERT_EQ(cudaGraphAddNode(&node, graph, nullptr, nullptr, 0, &loop), cudaSuccess);
  void* arguments[] = {&loop.conditional.handle, &left};
  body.type = cudaGraphNodeTypeKernel;
  body.kernel.func = kernel;
  body.kernel.gridDim = body.kernel.blockDim = dim3(1);
  body.kernel.kernelParams = arguments;
  ASSERT_EQ(cudaGraphAddNode(&node, loop.conditional.phGraph_out[0], nullptr, nullptr, 0, &body),
            cudaSuccess);
  ASSERT_EQ(cudaGraphInstantiate(&exec, graph, 0), cudaSuccess);
  EXPECT_EQ(cudaGraphLaunch(exec, nullptr), cudaSuccess);
  cudaDeviceSynchronize();
  EXPECT_EQ(cudaGraphExecDestroy(exec), cudaSuccess);
  EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
}

TEST(TimeLimit, StopsAWhileWhoseRoundsChangeNothing) {
  const auto begin = std::chrono::steady_clock::now();
  const std::string text = expect_report(
      [] {
        const device_array<int> left(1, -1);
        run_while(reinterpret_cast<void*>(go_on), left.data());
      },
      cudaErrorLaunchTimeout);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(3));
  EXPECT_NE(text.find("with the value 1 that cudaGraphSetConditional gave it at "
                      "time_limit_test.cu:" +
                      std::to_string(kGoOnLine)),
            std::string::npos)
      << text;
  // The next launch is right.
  const device_array<int> left(1, 5);
  run_while(reinterpret_cast<void*>(go_on), left.data());
  EXPECT_EQ(left.to_host()[0], 0);
}

__global__ void only_counts(cudaGraphConditionalHandle, int* rounds) { ++*rounds; }

TEST(TimeLimit, StopsAWhileThatOnlyCounts) {
  const auto begin = std::chrono::steady_clock::now();
  const std::string text = expect_report(
      [] {
        const device_array<int> rounds(1, 0);
        run_while(reinterpret_cast<void*>(only_counts), rounds.data());
      },
      cudaErrorLaunchTimeout);
  EXPECT_GT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(3));
  EXPECT_NE(text.find("which leave its value at 1, the default"), std::string::npos) << text;
}

__global__ void never_unlocked(int* lock) {
  while (atomicCAS(lock, 0, 1) != 0) {
  }
}

TEST(TimeLimit, NamesTheLineThatWaitsForALock) {
  const device_array<int> lock(1, 0);
  const std::string text =
      expect_report([&] { never_unlocked<<<1, 2>>>(lock.data()); }, cudaErrorLaunchTimeout);
  EXPECT_NE(text.find("a spin loop at time_limit_test.cu:"), std::string::npos) << text;
}

__global__ void long_threads(long long ticks, int* done) {
  const long long begin = clock64();
  while (clock64() - begin < ticks) {
  }
  atomicAdd(done, 1);
}

TEST(TimeLimit, IsForLaunchesWithoutProgress) {
  // One after the other, since they have a worker each: longer than the limit, but none alone.
  int kilohertz = 0;
  ASSERT_EQ(cudaDeviceGetAttribute(&kilohertz, cudaDevAttrClockRate, 0), cudaSuccess);
  const device_array<int> done(1, 0);
  const int blocks = 32 * static_cast<int>(cpu_device::worker_count());
  long_threads<<<blocks, 1>>>(20LL * kilohertz, done.data());
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_EQ(done.to_host()[0], blocks);
}

}  // namespace
