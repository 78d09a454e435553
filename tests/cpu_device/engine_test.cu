// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// The engine of the CPU device: which threads run, how they wait for each other, in which order,
// and what is said when they never meet.

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

TEST(Engine, RunsEveryThreadOfEveryShapeOnce) {
  const std::pair<dim3, dim3> shapes[] = {{1, 1},
                                          {7, 1},
                                          {1, 1024},
                                          {3, 33},
                                          {dim3(3, 5), dim3(7, 2)},
                                          {dim3(2, 3, 4), dim3(5, 3, 2)},
                                          {dim3(1, 1, 5), dim3(1, 1, 64)}};
  in_every_order([&] {
    for (const auto& [grid, block] : shapes) {
      const std::size_t threads =
          std::size_t{grid.x} * grid.y * grid.z * block.x * block.y * block.z;
      const device_array<int> visits(threads, 0), wrong(1, 0);
      count_visits<<<grid, block>>>(visits.data(), wrong.data());
      ASSERT_EQ(cudaGetLastError(), cudaSuccess);
      EXPECT_EQ(visits.to_host(), std::vector<int>(threads, 1));
      EXPECT_EQ(wrong.to_host()[0], 0);
    }
  });
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

__global__ void rotate(int* data, int rounds) {
  extern __shared__ int shared[];
  const unsigned n = blockDim.x, me = threadIdx.x;
  shared[me] = data[blockIdx.x * n + me];
  __syncthreads();
  for (int i = 0; i < rounds; ++i) {
    const int right = shared[(me + 1) % n];
    __syncthreads();
    shared[me] = right;
    __syncthreads();
  }
  data[blockIdx.x * n + me] = shared[me];
}

TEST(Engine, ABarrierSeparatesReadsFromWrites) {
  in_every_order([] {
    for (const int threads : {1, 2, 31, 32, 33, 255, 256, 1024}) {
      constexpr int kBlocks = 5, kRounds = 3;
      std::vector<int> host(static_cast<std::size_t>(threads) * kBlocks);
      std::iota(host.begin(), host.end(), 0);
      const device_array<int> data(host);
      rotate<<<kBlocks, threads, static_cast<std::size_t>(threads) * sizeof(int)>>>(data.data(),
                                                                                    kRounds);
      for (int b = 0; b < kBlocks; ++b)
        std::rotate(host.begin() + b * threads, host.begin() + b * threads + kRounds % threads,
                    host.begin() + (b + 1) * threads);
      EXPECT_EQ(data.to_host(), host) << threads << " threads";
    }
  });
}

__global__ void votes(int* out) {
  const int mine = threadIdx.x < 10;
  out[threadIdx.x * 3 + 0] = __syncthreads_count(mine);
  out[threadIdx.x * 3 + 1] = __syncthreads_and(threadIdx.x < 100);
  out[threadIdx.x * 3 + 2] = __syncthreads_or(threadIdx.x == 99);
}

TEST(Engine, BarriersVote) {
  in_every_order([] {
    const device_array<int> out(300, -1);
    votes<<<1, 100>>>(out.data());
    const std::vector<int> host = out.to_host();
    for (std::size_t i = 0; i < 100; ++i) {
      EXPECT_EQ(host[3 * i], 10);
      EXPECT_NE(host[3 * i + 1], 0);
      EXPECT_NE(host[3 * i + 2], 0);
    }
  });
}

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

// --- warps --------------------------------------------------------------------------------------

__global__ void warp_sums(const int* in, int* out) {
  int value = in[blockIdx.x * blockDim.x + threadIdx.x];
  for (int offset = 16; offset > 0; offset /= 2)
    value += __shfl_down_sync(0xffffffffU, value, offset);
  if (threadIdx.x % 32 == 0) out[(blockIdx.x * blockDim.x + threadIdx.x) / 32] = value;
}

TEST(Engine, ShufflesReduceAWarp) {
  in_every_order([] {
    constexpr std::size_t kThreads = 256, kBlocks = 3;
    std::vector<int> host(kThreads * kBlocks);
    for (std::size_t i = 0; i < host.size(); ++i) host[i] = static_cast<int>(i * i % 97) - 40;
    const device_array<int> in(host), out(host.size() / 32, 0);
    warp_sums<<<kBlocks, kThreads>>>(in.data(), out.data());
    const std::vector<int> sums = out.to_host();
    for (std::size_t w = 0; w < sums.size(); ++w)
      EXPECT_EQ(sums[w],
                std::accumulate(host.begin() + static_cast<std::ptrdiff_t>(32 * w),
                                host.begin() + static_cast<std::ptrdiff_t>(32 * w + 32), 0));
  });
}

__global__ void warp_functions(int* out, unsigned* masks) {
  const int lane = static_cast<int>(threadIdx.x);
  out[lane * 4 + 0] = __shfl_sync(0xffffffffU, lane * 10, 5);
  out[lane * 4 + 1] = __shfl_up_sync(0xffffffffU, lane, 3, 8);
  out[lane * 4 + 2] = __shfl_xor_sync(0xffffffffU, lane, 1);
  out[lane * 4 + 3] = static_cast<int>(__reduce_add_sync(0xffffffffU, static_cast<unsigned>(lane)));
  masks[lane * 4 + 0] = __ballot_sync(0xffffffffU, lane % 3 == 0);
  masks[lane * 4 + 1] = __match_any_sync(0xffffffffU, lane / 8);
  unsigned half = 0;
  if (lane < 16)
    half = __ballot_sync(0x0000ffffU, lane % 2);
  else
    half = __ballot_sync(0xffff0000U, lane % 2);
  masks[lane * 4 + 2] = half;
  masks[lane * 4 + 3] = lane % 4 == 1 ? __activemask() : 0;
}

TEST(Engine, WarpFunctionsFollowTheirDefinitions) {
  in_every_order([] {
    const device_array<int> out(128, -1);
    const device_array<unsigned> masks(128, 0);
    warp_functions<<<1, 32>>>(out.data(), masks.data());
    const std::vector<int> o = out.to_host();
    const std::vector<unsigned> m = masks.to_host();
    unsigned thirds = 0, ones = 0;
    for (unsigned l = 0; l < 32; ++l) {
      thirds |= (l % 3 == 0 ? 1U : 0U) << l;
      ones |= (l % 4 == 1 ? 1U : 0U) << l;
    }
    for (int lane = 0; lane < 32; ++lane) {
      const auto at = static_cast<std::size_t>(lane) * 4;
      EXPECT_EQ(o[at], 50);
      EXPECT_EQ(o[at + 1], lane % 8 < 3 ? lane : lane - 3);
      EXPECT_EQ(o[at + 2], lane ^ 1);
      EXPECT_EQ(o[at + 3], 31 * 32 / 2);
      EXPECT_EQ(m[at], thirds);
      EXPECT_EQ(m[at + 1], 0xFFU << (lane / 8 * 8));
      EXPECT_EQ(m[at + 2], lane < 16 ? 0x0000aaaaU : 0xaaaa0000U);
      EXPECT_EQ(m[at + 3], lane % 4 == 1 ? ones : 0U);
    }
  });
}

__global__ void partial_warp(int* out) {
  out[threadIdx.x] = __shfl_down_sync(0xffffffffU, static_cast<int>(threadIdx.x), 1);
}

TEST(Engine, LanesThatABlockNeverHadAreNotWaitedFor) {
  const device_array<int> out(40, -1);
  partial_warp<<<1, 40>>>(out.data());
  const std::vector<int> host = out.to_host();
  for (int i = 0; i < 39; ++i) EXPECT_EQ(host[static_cast<std::size_t>(i)], i == 31 ? 31 : i + 1);
}

// --- locks --------------------------------------------------------------------------------------

__global__ void locked_increments(int* lock, int* counter) {
  while (atomicCAS(lock, 0, 1) != 0) {
  }
  __threadfence();
  *counter = *counter + 1;
  __threadfence();
  atomicExch(lock, 0);
}

TEST(Engine, ASpinLockLetsTheOwnerFinish) {
  in_every_order([] {
    const device_array<int> lock(1, 0), counter(1, 0);
    locked_increments<<<8, 64>>>(lock.data(), counter.data());
    EXPECT_EQ(counter.to_host()[0], 512);
  });
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
  EXPECT_NE(text.find("0 bytes past the end"), std::string::npos) << text;
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
