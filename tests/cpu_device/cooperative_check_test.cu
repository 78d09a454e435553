// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// The check build knows the grid's barrier: what lies on either side of it is ordered.

#include <cooperative_groups.h>

#include "cpu_device_testing.hpp"

namespace {

using cpu_device_testing::device_array;

__global__ void shift(int* data, bool with_barrier, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  const int value = data[(i + 1) % n];
  if (with_barrier)
    cooperative_groups::this_grid().sync();
  else
    __syncthreads();
  data[i] = value;
}

void launch(const device_array<int>& data, bool with_barrier) {
  int* d = data.data();
  int n = 4 * 32;
  void* arguments[] = {&d, &with_barrier, &n};
  EXPECT_EQ(cudaLaunchCooperativeKernel((void*)shift, 4, 32, arguments), cudaSuccess);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
}

TEST(CooperativeRaces, TheGridsBarrierOrdersBlocks) {
  cpu_device_testing::in_every_order([] {
    const device_array<int> data(4 * 32, 1);
    const std::size_t before = cpu_device::report_count();
    launch(data, true);
    EXPECT_EQ(cpu_device::report_count(), before) << cpu_device::last_report();
  });
}

TEST(CooperativeRaces, ABlocksBarrierDoesNot) {
  const device_array<int> data(4 * 32, 1);
  const std::size_t before = cpu_device::report_count();
  launch(data, false);
  ASSERT_GT(cpu_device::report_count(), before);
  EXPECT_NE(cpu_device::last_report().find("race on global memory"), std::string::npos)
      << cpu_device::last_report();
}

}  // namespace
