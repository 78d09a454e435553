// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// What the check build sees of inline PTX, and reports on instructions that ask for too much.

#include <string>

#include "cpu_device_testing.hpp"

namespace {

using cpu_device_testing::device_array;
using cpu_device_testing::expect_report;

void expect_parts(const std::string& report, const std::vector<std::string>& parts) {
  for (const std::string& part : parts)
    EXPECT_NE(report.find(part), std::string::npos) << part << " is not in: " << report;
}
std::string line_of(int line) { return "ptx_check_test.cu:" + std::to_string(line); }

constexpr int kBarrierLine = __LINE__ + 2;
__global__ void meet_at(int number, int threads) {
  asm volatile("bar.sync %0, %1;" ::"r"(number), "r"(threads) : "memory");
}
constexpr int kEndlessLine = __LINE__ + 2;
__global__ void meet_without_the_last_warp() {
  if (threadIdx.x < 64) asm volatile("bar.sync 1, 96;" ::: "memory");
}
constexpr int kOtherCountLine = __LINE__ + 5;
__global__ void meet_in_disagreement() {
  if (threadIdx.x < 32)
    asm volatile("bar.arrive 3, 64;" ::: "memory");
  else
    asm volatile("bar.sync 3, 96;" ::: "memory");
}

TEST(PtxReports, BarriersThatThereAreNot) {
  expect_parts(expect_report([] { meet_at<<<1, 64>>>(16, 64); }, cudaErrorLaunchFailure),
               {"has the barriers 0 to 15", line_of(kBarrierLine)});
  for (const int threads : {0, 31, 33, 96, -32})
    expect_parts(expect_report([=] { meet_at<<<1, 64>>>(1, threads); }, cudaErrorLaunchFailure),
                 {"a barrier is for whole warps", line_of(kBarrierLine)});
}

TEST(PtxReports, BarriersThatNobodyElseComesTo) {
  expect_parts(
      expect_report([] { meet_without_the_last_warp<<<1, 96>>>(); }, cudaErrorLaunchTimeout),
      {"wait in bar.sync", line_of(kEndlessLine)});
}

TEST(PtxReports, BarriersOfWhichThreadsDisagree) {
  cpu_device::set_thread_order(cpu_device::thread_order::forward);
  expect_parts(
      expect_report([] { meet_in_disagreement<<<1, 96>>>(); }, cudaErrorLaunchFailure),
      {"it is for 64 threads, and this one for 96. It was called", line_of(kOtherCountLine)});
}

constexpr int kTrapLine = __LINE__ + 1;
__global__ void stop() { asm("trap;"); }
TEST(PtxReports, Traps) {
  expect_parts(expect_report([] { stop<<<1, 1>>>(); }, cudaErrorLaunchFailure),
               {"called __trap()", line_of(kTrapLine)});
}

#ifdef CPU_DEVICE_CHECK

constexpr int kStoreLine = __LINE__ + 5, kLoadLine = __LINE__ + 7;
__global__ void reverse(int* data, bool wait) {
  __shared__ int tile[64];
  const auto begin = static_cast<unsigned>(__cvta_generic_to_shared(tile));
  const unsigned i = threadIdx.x;
  asm volatile("st.shared.u32 [%0], %1;" ::"r"(begin + 4 * i), "r"(data[i]) : "memory");
  if (wait) asm volatile("bar.sync 0;" ::: "memory");
  asm volatile("ld.shared.u32 %0, [%1];" : "=r"(data[i]) : "r"(begin + 4 * (63 - i)));
}

// Each half of the block reverses its own numbers, and has its own barrier.
constexpr int kHalfStoreLine = __LINE__ + 4, kHalfLoadLine = __LINE__ + 6;
__global__ void reverse_halves(int* data, bool wait) {
  __shared__ int tile[128];
  const unsigned i = threadIdx.x, half = i / 64;
  tile[i] = data[i];
  if (wait) asm volatile("bar.sync %0, 64;" ::"r"(half + 1) : "memory");
  data[i] = tile[128 * half + 63 - i];
}

TEST(PtxCheck, ABarrierOfAPartOrdersThatPart) {
  const device_array<int> data(128, 1);
  cpu_device_testing::in_every_order([&] {
    const std::size_t before = cpu_device::report_count();
    reverse_halves<<<1, 128>>>(data.data(), true);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    EXPECT_EQ(cpu_device::report_count(), before) << cpu_device::last_report();
  });
  expect_parts(expect_report([&] { reverse_halves<<<1, 128>>>(data.data(), false); }, cudaSuccess),
               {"race on shared memory", line_of(kHalfStoreLine), line_of(kHalfLoadLine)});
}

TEST(PtxCheck, AMissingBarrierIsARace) {
  const device_array<int> data(64, 1);
  reverse<<<1, 64>>>(data.data(), true);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  expect_parts(expect_report([&] { reverse<<<1, 64>>>(data.data(), false); }, cudaSuccess),
               {"race on shared memory", line_of(kStoreLine), line_of(kLoadLine)});
}

constexpr int kOutsideLine = __LINE__ + 3;
__global__ void add_one_too_many(int* data) {
  const unsigned i = threadIdx.x;
  asm volatile("red.global.add.u32 [%0], 1;" ::"l"(data + i) : "memory");
}
TEST(PtxCheck, AnElementPastTheEndIsNamed) {
  const device_array<int> data(63, 1);
  expect_parts(
      expect_report([&] { add_one_too_many<<<1, 64>>>(data.data()); }, cudaErrorIllegalAddress),
      {"element 63", line_of(kOutsideLine)});
}

#endif

}  // namespace
