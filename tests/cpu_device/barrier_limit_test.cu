// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// A long kernel that goes from barrier to barrier, each time in another state, is not stopped.
// (time_limit_test.cu has those that are.)

#include <cpu_device.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "cpu_device_testing.hpp"

namespace {

using cpu_device_testing::device_array;

// Before the first launch asks for it. Long enough for a busy machine.
[[maybe_unused]] const int limit_is_short = setenv("CPU_DEVICE_TIME_LIMIT", "1.5", 1);

/// What each thread has is the same in every round, and `rounds` is not.
__global__ void count_in_shared_memory(long long ticks, int* out) {
  __shared__ int rounds, done;
  const long long begin = clock64();
  if (threadIdx.x == 0) rounds = 0;
  do {
    __syncthreads();
    if (threadIdx.x == 0) {
      ++rounds;
      done = clock64() - begin > ticks ? 1 : 0;
    }
    __syncthreads();
  } while (done == 0);
  if (threadIdx.x == 0) *out = rounds;
}

TEST(BarrierLimit, IsNotForBarriersThatFindSomethingNew) {
  int kilohertz = 0;
  ASSERT_EQ(cudaDeviceGetAttribute(&kilohertz, cudaDevAttrClockRate, 0), cudaSuccess);
  const device_array<int> out(1, 0);
  count_in_shared_memory<<<1, 64>>>(4000LL * kilohertz, out.data());
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_GT(out.to_host()[0], 0);
}

}  // namespace
