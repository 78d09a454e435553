// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// The race check: each racy kernel is reported with both places, and its correct twin is silent.
// This file is compiled the way the check build compiles kernels.

#include <cpu_device.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <string>
#include <vector>

#include "cpu_device_testing.hpp"

#ifdef CPU_DEVICE_CHECK

namespace {

using cpu_device_testing::device_array;
using cpu_device_testing::in_every_order;

/// The reports that a launch causes; at most one is expected for each pair of places.
template <class Launch>
std::string races_of(Launch launch) {
  const std::size_t before = cpu_device::report_count();
  launch();
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  return cpu_device::report_count() == before ? "" : cpu_device::last_report();
}

constexpr int kWriteLine = __LINE__ + 4;
constexpr int kReadLine = kWriteLine + 2;
__global__ void neighbour(int* out, bool with_barrier) {
  __shared__ int cache[128];
  cache[threadIdx.x] = static_cast<int>(threadIdx.x);  // kWriteLine
  if (with_barrier) __syncthreads();
  out[blockIdx.x * blockDim.x + threadIdx.x] = cache[(threadIdx.x + 1) % blockDim.x];
}

std::string at(const char* what, int line) {
  return std::string(what) + " at race_check_test.cu:" + std::to_string(line);
}

TEST(RaceCheck, NamesBothPlacesOfAMissingBarrier) {
  const device_array<int> out(4 * 128, 0);
  const std::string text = races_of([&] { neighbour<<<4, 128>>>(out.data(), false); });
  EXPECT_NE(text.find("race on shared memory in kernel neighbour"), std::string::npos) << text;
  EXPECT_NE(text.find(at("writes", kWriteLine)), std::string::npos) << text;
  EXPECT_NE(text.find(at("reads", kReadLine)), std::string::npos) << text;
  EXPECT_NE(text.find("__syncthreads()"), std::string::npos) << text;
}

TEST(RaceCheck, TellsARaceOnceUntilItIsAskedToAgain) {
  const device_array<int> out(128, 0);
  const auto races = [&] { return races_of([&] { neighbour<<<1, 128>>>(out.data(), false); }); };
  cpu_device::report_again();
  EXPECT_NE(races(), "");
  EXPECT_EQ(races(), "");
  cpu_device::report_again();
  EXPECT_NE(races(), "");
}

TEST(RaceCheck, IsSilentWithTheBarrier) {
  in_every_order([] {
    const device_array<int> out(4 * 128, 0);
    EXPECT_EQ(races_of([&] { neighbour<<<4, 128>>>(out.data(), true); }), "");
  });
}

/// Bytes that this process may write to, as a limit of them (RLIMIT_DATA) counts.
std::size_t writable_bytes() {
  std::size_t pages = 0;
  std::ifstream statm("/proc/self/statm");  // the sixth number
  for (int i = 0; i < 6; ++i) statm >> pages;
  return pages * static_cast<std::size_t>(getpagesize());
}

__global__ void touch(int* out, std::size_t n) {
  for (std::size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    out[i] = 1;
}

// What is stored about a word takes sixteen times its size. A class is graded under a memory limit.
TEST(RaceCheck, TakesRoomForWhatKernelsTouchOnly) {
  const std::size_t before = writable_bytes();
  const device_array<char> untouched(std::size_t{64} << 20, 0);
  EXPECT_LT(writable_bytes(), before + (std::size_t{128} << 20));
}

TEST(RaceCheck, UsesTheRoomOfFreedMemoryAgain) {
  constexpr std::size_t kWords = std::size_t{1} << 18, kPage = std::size_t{1} << 14;
  const auto touch_some = [](std::size_t n) {
    const device_array<int> out(n, 0);
    touch<<<4, 64>>>(out.data(), n);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  };
  touch_some(kWords);
  const std::size_t before = writable_bytes();
  // Each is larger than all before it, so it is not placed where one of them was.
  for (std::size_t i = 1; i <= 16; ++i) touch_some(kWords + i * kPage);
  EXPECT_LT(writable_bytes(), before + (std::size_t{128} << 20));
}

__global__ void tree_sum(const int* in, int* out, int skipped_round) {
  __shared__ int cache[256];
  cache[threadIdx.x] = in[blockIdx.x * blockDim.x + threadIdx.x];
  __syncthreads();
  int round = 0;
  for (unsigned half = blockDim.x / 2; half > 0; half /= 2, ++round) {
    if (threadIdx.x < half) cache[threadIdx.x] += cache[threadIdx.x + half];
    if (round != skipped_round) __syncthreads();
  }
  if (threadIdx.x == 0) out[blockIdx.x] = cache[0];
}

TEST(RaceCheck, FindsOneSkippedRoundOfAReduction) {
  const device_array<int> in(4 * 256, 1), out(4, 0);
  EXPECT_EQ(races_of([&] { tree_sum<<<4, 256>>>(in.data(), out.data(), -1); }), "");
  EXPECT_NE(races_of([&] { tree_sum<<<4, 256>>>(in.data(), out.data(), 2); }), "");
}

// As __half is: g++ notes once for each OS thread that it has called the constructors.
struct with_constructors {
  short value;
  with_constructors() = default;
  with_constructors(int v) : value(static_cast<short>(v)) {}
};

template <int N>
__global__ void own_elements(int* out) {
  __shared__ with_constructors cache[N];
  cache[threadIdx.x] = with_constructors(static_cast<int>(threadIdx.x));
  out[blockIdx.x * blockDim.x + threadIdx.x] = cache[threadIdx.x].value;
}

TEST(RaceCheck, IsSilentOnSharedArraysOfAClassWithConstructors) {
  const device_array<int> out(4 * 128, 0);
  EXPECT_EQ(races_of([&] { own_elements<128><<<4, 128>>>(out.data()); }), "");
}

__global__ void count_plainly(int* counter) { *counter += 1; }
__global__ void count_atomically(int* counter) { atomicAdd(counter, 1); }

TEST(RaceCheck, FindsALostUpdate) {
  const device_array<int> counter(1, 0);
  EXPECT_EQ(races_of([&] { count_atomically<<<4, 64>>>(counter.data()); }), "");
  const std::string text = races_of([&] { count_plainly<<<4, 64>>>(counter.data()); });
  EXPECT_NE(text.find("race on global memory"), std::string::npos) << text;
}

__global__ void one_thread_a_block_counts(int* counter) {
  if (threadIdx.x == 0) *counter += 1;
}

TEST(RaceCheck, FindsARaceBetweenBlocks) {
  const device_array<int> counter(1, 0);
  const std::string text = races_of([&] { one_thread_a_block_counts<<<8, 64>>>(counter.data()); });
  EXPECT_NE(text.find("Blocks run concurrently and in any order"), std::string::npos) << text;
}

__global__ void bytes(unsigned char* out) {
  out[threadIdx.x] = static_cast<unsigned char>(threadIdx.x);
}

TEST(RaceCheck, NeighbouringBytesAreDifferentPlaces) {
  const device_array<unsigned char> out(64, 0);
  EXPECT_EQ(races_of([&] { bytes<<<1, 64>>>(out.data()); }), "");
}

__global__ void warp_steps(int* out, bool with_syncwarp) {
  __shared__ int cache[32];
  cache[threadIdx.x] = 1;
  if (with_syncwarp) __syncwarp();
  out[threadIdx.x] = cache[threadIdx.x ^ 1U];
}

TEST(RaceCheck, SyncwarpOrdersTheLanesOfAWarp) {
  const device_array<int> out(32, 0);
  EXPECT_EQ(races_of([&] { warp_steps<<<1, 32>>>(out.data(), true); }), "");
  const std::string text = races_of([&] { warp_steps<<<1, 32>>>(out.data(), false); });
  EXPECT_NE(text.find("a __syncwarp() where only lanes of one warp meet"), std::string::npos)
      << text;
}

enum class warp_function { shuffle, vote, match, barrier };

template <warp_function kBetween>
__global__ void around_a_warp_function(int* out) {
  __shared__ int cache[32];
  cache[threadIdx.x] = 1;
  int got = 0;
  if (kBetween == warp_function::shuffle) got = __shfl_xor_sync(0xffffffffU, 1, 1);
  if (kBetween == warp_function::vote) got = __any_sync(0xffffffffU, 1);
  if (kBetween == warp_function::match)
    got = static_cast<int>(__match_any_sync(0xffffffffU, threadIdx.x % 2));
  if (kBetween == warp_function::barrier) __syncwarp();
  out[threadIdx.x] = cache[threadIdx.x ^ 1U] + got;
}

template <warp_function kBetween>
std::string races_around() {
  const device_array<int> out(32, 0);
  return races_of([&] { around_a_warp_function<kBetween><<<1, 32>>>(out.data()); });
}

TEST(RaceCheck, ShufflesAndVotesOrderNoMemory) {
  EXPECT_NE(races_around<warp_function::shuffle>(), "");
  EXPECT_NE(races_around<warp_function::vote>(), "");
  EXPECT_NE(races_around<warp_function::match>(), "");
  EXPECT_EQ(races_around<warp_function::barrier>(), "");
}

__global__ void shuffle_sum(const int* in, int* out) {
  int value = in[blockIdx.x * blockDim.x + threadIdx.x];
  for (int offset = 16; offset > 0; offset /= 2)
    value += __shfl_down_sync(0xffffffffU, value, offset);
  __shared__ int of_warp[32];
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = value;
  __syncthreads();
  if (threadIdx.x == 0) {
    int sum = 0;
    for (unsigned w = 0; w < blockDim.x / 32; ++w) sum += of_warp[w];
    atomicAdd(out, sum);
  }
}

TEST(RaceCheck, IsSilentOnShuffles) {
  in_every_order([] {
    const device_array<int> in(512, 1), out(1, 0);
    EXPECT_EQ(races_of([&] { shuffle_sum<<<2, 256>>>(in.data(), out.data()); }), "");
    EXPECT_EQ(out.to_host()[0], 512);
  });
}

__global__ void under_a_lock(int* lock, int* counter) {
  if (threadIdx.x != 0) return;
  while (atomicCAS(lock, 0, 1) != 0) {
  }
  __threadfence();
  *counter += 1;
  __threadfence();
  atomicExch(lock, 0);
}

TEST(RaceCheck, IsSilentOnWorkUnderALock) {
  const device_array<int> lock(1, 0), counter(1, 0);
  EXPECT_EQ(races_of([&] { under_a_lock<<<16, 32>>>(lock.data(), counter.data()); }), "");
  EXPECT_EQ(counter.to_host()[0], 16);
}

__global__ void fill(int* data, int value) { data[threadIdx.x] = value; }

TEST(RaceCheck, LaunchesAreOrdered) {
  const device_array<int> data(64, 0);
  EXPECT_EQ(races_of([&] {
              fill<<<1, 64>>>(data.data(), 1);
              fill<<<1, 64>>>(data.data(), 2);
            }),
            "");
}

}  // namespace

#else

TEST(RaceCheck, IsNotPartOfTheAddressSanitizerBuild) {
  GTEST_SKIP() << "the race check and AddressSanitizer cannot be combined";
}

#endif
