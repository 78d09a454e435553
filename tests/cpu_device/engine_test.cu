// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// The engine of the CPU device: in which order threads run, and what is reported if they never
// arrive at the same barrier. What they compute together is in threads_test.cu.

#include <cpu_device.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "cpu_device_testing.hpp"

namespace {

using cpu_device::thread_order;
using cpu_device_testing::device_array;
using cpu_device_testing::expect_report;
using cpu_device_testing::in_every_order;

// --- which threads run --------------------------------------------------------------------------

__global__ void count_visits(int* visits, int* wrong) {
  const unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
  const unsigned thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  atomicAdd(&visits[block * (blockDim.x * blockDim.y * blockDim.z) + thread], 1);
  if (threadIdx.x >= blockDim.x || threadIdx.y >= blockDim.y || threadIdx.z >= blockDim.z ||
      blockIdx.x >= gridDim.x || blockIdx.y >= gridDim.y || blockIdx.z >= gridDim.z)
    atomicAdd(wrong, 1);
}

TEST(Engine, RunsTheBlocksAskedFor) {
  const dim3 grid(3, 5, 2), block(33);
  constexpr unsigned kFirst = 7, kCount = 11;
  in_every_order([&] {
    const device_array<int> visits(30 * 33, 0), wrong(1, 0);
    cpu_device::set_blocks_that_run(kFirst, kCount);
    count_visits<<<grid, block>>>(visits.data(), wrong.data());
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    cpu_device::set_blocks_that_run();
    std::vector<int> expected(30 * 33, 0);
    std::fill_n(expected.begin() + kFirst * 33, kCount * 33, 1);
    EXPECT_EQ(visits.to_host(), expected);

    count_visits<<<grid, block>>>(visits.data(), wrong.data());
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    for (int& each : expected) ++each;
    EXPECT_EQ(visits.to_host(), expected) << "all of them again";
    EXPECT_EQ(wrong.to_host()[0], 0);
  });
}

TEST(Engine, RunsAllBlocksThatWaitForEachOther) {
  const device_array<int> visits(3 * 32, 0), wrong(1, 0);
  int *to = visits.data(), *to_wrong = wrong.data();
  void* arguments[] = {&to, &to_wrong};
  cpu_device::set_blocks_that_run(1, 1);
  EXPECT_EQ(cudaLaunchCooperativeKernel(reinterpret_cast<const void*>(&count_visits), 3, 32,
                                        arguments, 0, nullptr),
            cudaSuccess);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  cpu_device::set_blocks_that_run();
  EXPECT_EQ(visits.to_host(), std::vector<int>(3 * 32, 1));
}

__global__ void take_number(int* next, int* number) { number[threadIdx.x] = atomicAdd(next, 1); }

std::vector<int> start_order(thread_order order, unsigned seed) {
  cpu_device::set_thread_order(order, seed);
  const device_array<int> next(1, 0), number(64, -1);
  take_number<<<1, 64>>>(next.data(), number.data());
  cpu_device::set_thread_order(thread_order::forward);
  return number.to_host();
}

TEST(Engine, StartsThreadsInTheOrderAskedFor) {
  std::vector<int> up(64);
  std::iota(up.begin(), up.end(), 0);
  EXPECT_EQ(start_order(thread_order::forward, 0), up);
  EXPECT_EQ(start_order(thread_order::reverse, 0), std::vector<int>(up.rbegin(), up.rend()));
  const std::vector<int> random = start_order(thread_order::random, 7);
  EXPECT_NE(random, up);
  EXPECT_EQ(random, start_order(thread_order::random, 7));
  EXPECT_NE(random, start_order(thread_order::random, 8));
  EXPECT_TRUE(std::is_permutation(random.begin(), random.end(), up.begin()));
}

// --- waiting ------------------------------------------------------------------------------------

__global__ void shared_is_poisoned(unsigned* out) {
  __shared__ unsigned fixed[4];
  extern __shared__ unsigned dynamic[];
  if (threadIdx.x == 0) {
    out[2 * blockIdx.x] = fixed[blockIdx.x % 4];
    out[2 * blockIdx.x + 1] = dynamic[blockIdx.x % 4];
  }
  __syncthreads();
  fixed[threadIdx.x] = dynamic[threadIdx.x] = 0;  // what the next block must not see
}

TEST(Engine, SharedMemoryOfEachBlockStartsAsRubbish) {
  const device_array<unsigned> out(2 * 64, 0);
  shared_is_poisoned<<<64, 4, 4 * sizeof(unsigned)>>>(out.data());
  EXPECT_EQ(out.to_host(), std::vector<unsigned>(2 * 64, 0xFFFFFFFFU));
}

// --- mistakes -----------------------------------------------------------------------------------

__global__ void barrier_in_an_if(int* out) {
  if (threadIdx.x < 40) __syncthreads();
  out[threadIdx.x] = 1;
}

TEST(EngineReports, ABarrierThatSomeThreadsSkip) {
  in_every_order([] {
    const device_array<int> out(64, 0);
    const std::string text =
        expect_report([&] { barrier_in_an_if<<<1, 64>>>(out.data()); }, cudaErrorLaunchFailure);
    EXPECT_NE(text.find("barrier_in_an_if"), std::string::npos) << text;
    EXPECT_NE(text.find("engine_test.cu:"), std::string::npos) << text;
    EXPECT_NE(text.find("40 threads (0-39) wait in __syncthreads()"), std::string::npos) << text;
    EXPECT_NE(text.find("24 threads (40-63) have left the kernel"), std::string::npos) << text;
  });
}

__global__ void early_return(int* out, int n) {
  if (static_cast<int>(threadIdx.x) >= n) return;
  __syncthreads();
  out[threadIdx.x] = 1;
}

TEST(EngineReports, AnEarlyReturnBeforeABarrier) {
  const device_array<int> out(64, 0);
  const std::string text =
      expect_report([&] { early_return<<<1, 64>>>(out.data(), 33); }, cudaErrorLaunchFailure);
  EXPECT_NE(text.find("33 threads (0-32) wait"), std::string::npos) << text;
}

__global__ void two_barriers(int* out) {
  if (threadIdx.x % 2 == 0)
    __syncthreads();
  else
    __syncthreads();
  out[threadIdx.x] = 1;
}

TEST(EngineReports, ThreadsThatWaitInDifferentBarriers) {
  const device_array<int> out(4, 0);
  const std::string text =
      expect_report([&] { two_barriers<<<1, 4>>>(out.data()); }, cudaErrorLaunchFailure);
  EXPECT_NE(text.find("2 threads (0, 2) wait in"), std::string::npos) << text;
  EXPECT_NE(text.find("2 threads (1, 3) wait in"), std::string::npos) << text;
}

__global__ void uneven_barriers(int* out) {
  for (unsigned i = 0; i <= threadIdx.x; ++i) __syncthreads();
  out[threadIdx.x] = 1;
}

TEST(EngineReports, ThreadsThatPassABarrierDifferentlyOften) {
  const device_array<int> out(4, 0);
  const std::string text =
      expect_report([&] { uneven_barriers<<<1, 4>>>(out.data()); }, cudaErrorLaunchFailure);
  EXPECT_NE(text.find("barrier divergence"), std::string::npos) << text;
}

__global__ void shuffle_without_half_of_the_warp(int* out) {
  if (threadIdx.x < 16) out[threadIdx.x] = __shfl_down_sync(0xffffffffU, 1, 8);
}

TEST(EngineReports, AShuffleWhoseMaskNamesAbsentLanes) {
  in_every_order([] {
    const device_array<int> out(32, 0);
    const std::string text = expect_report(
        [&] { shuffle_without_half_of_the_warp<<<1, 32>>>(out.data()); }, cudaErrorLaunchFailure);
    EXPECT_NE(text.find("16 threads (0-15) wait in __shfl_down_sync"), std::string::npos) << text;
    EXPECT_NE(text.find("mask 0xffffffff"), std::string::npos) << text;
  });
}

__global__ void mask_without_the_caller(int* out) {
  out[threadIdx.x] = __shfl_sync(0x0000ffffU, 1, 0);
}

TEST(EngineReports, AShuffleWhoseMaskLeavesTheCallerOut) {
  const device_array<int> out(32, 0);
  const std::string text = expect_report([&] { mask_without_the_caller<<<1, 32>>>(out.data()); },
                                         cudaErrorLaunchFailure);
  EXPECT_NE(text.find("does not name that lane"), std::string::npos) << text;
}

__global__ void two_functions_of_one_mask(int* out) {
  const int lane = static_cast<int>(threadIdx.x);
  if (lane < 16)
    out[lane] = __shfl_sync(0xffffffffU, lane, 0);
  else
    out[lane] = __any_sync(0xffffffffU, lane);
}

TEST(EngineReports, LanesThatMeetInDifferentWarpFunctions) {
  in_every_order([] {
    const device_array<int> out(32, 0);
    const std::string text = expect_report(
        [&] { two_functions_of_one_mask<<<1, 32>>>(out.data()); }, cudaErrorLaunchFailure);
    EXPECT_NE(text.find("16 threads (0-15) wait in __shfl_sync"), std::string::npos) << text;
    EXPECT_NE(text.find("16 threads (16-31) wait in __any_sync"), std::string::npos) << text;
  });
}

__global__ void write_at(int* data, int index) { data[index] = 1; }

TEST(EngineReports, AWriteFarPastTheEnd) {
  const device_array<int> data(1000, 0);
  const std::string text =
      expect_report([&] { write_at<<<1, 1>>>(data.data(), 1100); }, cudaErrorIllegalAddress);
  EXPECT_NE(text.find("past the end of device memory (4000 bytes"), std::string::npos) << text;
  EXPECT_NE(text.find("thread (0,0,0)"), std::string::npos) << text;
  EXPECT_NE(text.find("at engine_test.cu:"), std::string::npos) << text;
}

TEST(EngineReports, AWriteOneElementPastTheEnd) {
  const device_array<int> data(1000, 0);
  const std::string text =
      expect_report([&] { write_at<<<1, 1>>>(data.data(), 1000); }, cudaErrorIllegalAddress);
  EXPECT_NE(text.find("just past the end of"), std::string::npos) << text;
}

TEST(EngineReports, AWriteBeforeTheBegin) {
  const device_array<int> data(1024, 0);
  const std::string text =
      expect_report([&] { write_at<<<1, 1>>>(data.data(), -1); }, cudaErrorIllegalAddress);
  EXPECT_NE(text.find("4 bytes before the begin"), std::string::npos) << text;
}

TEST(EngineReports, ANullPointer) {
  const std::string text = expect_report([&] { write_at<<<1, 1>>>(static_cast<int*>(nullptr), 3); },
                                         cudaErrorIllegalAddress);
  EXPECT_NE(text.find("null pointer"), std::string::npos) << text;
}

#if defined(__x86_64__)  // other processors name the address
__global__ void follow(unsigned long long pointer) { *reinterpret_cast<int*>(pointer) = 1; }

TEST(EngineReports, APointerThatIsNoAddress) {
  const std::string text =
      expect_report([] { follow<<<1, 1>>>(0x5A5A5A5A5A5A5A5AULL); }, cudaErrorIllegalAddress);
  EXPECT_NE(text.find("is no address"), std::string::npos) << text;
  EXPECT_EQ(text.find("null pointer"), std::string::npos) << text;
}
#endif

__global__ void write_dynamic_shared(int index, int* out) {
  extern __shared__ int shared[];
  shared[index] = 1;
  out[0] = shared[0];
}

TEST(EngineReports, AnAccessPastTheDynamicSharedMemory) {
  const device_array<int> out(1, 0);
  const std::string text = expect_report(
      [&] { write_dynamic_shared<<<1, 1, 64>>>(16, out.data()); }, cudaErrorIllegalAddress);
  EXPECT_NE(text.find("The launch asked for 64 bytes"), std::string::npos) << text;
}

TEST(EngineReports, AHostPointerAsAnArgument) {
  std::vector<int> host(4);
  const std::string text =
      expect_report([&] { write_at<<<1, 1>>>(host.data(), 0); }, cudaErrorIllegalAddress);
  EXPECT_NE(text.find("argument 1 is a host pointer"), std::string::npos) << text;
}

TEST(EngineReports, AFreedPointerAsAnArgument) {
  int* data = nullptr;
  ASSERT_EQ(cudaMalloc(&data, 64), cudaSuccess);
  ASSERT_EQ(cudaFree(data), cudaSuccess);
  const std::string text =
      expect_report([&] { write_at<<<1, 1>>>(data, 0); }, cudaErrorIllegalAddress);
  EXPECT_NE(text.find("already freed"), std::string::npos) << text;
}

__global__ void divide(int* out, int by) { out[threadIdx.x] = 7 / by; }

TEST(EngineReports, AnIntegerDivisionByZero) {
#ifndef __x86_64__
  GTEST_SKIP() << "this processor gives 0, and does not stop";
#endif
  const device_array<int> out(1, 0);
  const std::string text =
      expect_report([&] { divide<<<1, 1>>>(out.data(), 0); }, cudaErrorLaunchFailure);
  EXPECT_NE(text.find("division by zero"), std::string::npos) << text;
}

__device__ int deep(int n, int* out) {
  volatile int room[64];
  room[n % 64] = n;
  if (n == *out) return 1;
  return deep(n + 1, out) + room[n % 64];
}
__global__ void recurse(int* out) {
  __syncthreads();  // the second thread stands on a stack of the pool
  *out = deep(0, out);
}

TEST(EngineReports, ARecursionWithoutEnd) {
  const device_array<int> out(1, -1);
  const std::string text =
      expect_report([&] { recurse<<<1, 2>>>(out.data()); }, cudaErrorIllegalAddress);
  EXPECT_NE(text.find("stack overflow"), std::string::npos) << text;
}

TEST(Engine, GoesOnAfterAResetAsIfNothingHadHappened) {
  const device_array<int> out(64, 0);
  expect_report([&] { barrier_in_an_if<<<3, 64>>>(out.data()); }, cudaErrorLaunchFailure);
  const device_array<int> visits(256, 0), wrong(1, 0);
  count_visits<<<4, 64>>>(visits.data(), wrong.data());
  EXPECT_EQ(visits.to_host(), std::vector<int>(256, 1));
}

}  // namespace
