// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// What the check build sees of inline PTX, and what is said of instructions that ask for too much.

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
__global__ void meet_at_barrier_1(int threads) {
  asm volatile("bar.sync 1, %0;" ::"r"(threads) : "memory");
}
constexpr int kPartLine = __LINE__ + 1;
__global__ void meet_in_part() { asm volatile("bar.sync 0, 32;" ::: "memory"); }

TEST(PtxReports, BarriersOfAPart) {
  expect_parts(expect_report([] { meet_at_barrier_1<<<1, 64>>>(64); }, cudaErrorLaunchFailure),
               {"has barrier 0 of a block", line_of(kBarrierLine)});
  expect_parts(expect_report([] { meet_in_part<<<1, 64>>>(); }, cudaErrorLaunchFailure),
               {"a part of the block's threads", line_of(kPartLine)});
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
