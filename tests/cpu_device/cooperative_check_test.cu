// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// The check build knows the barriers of the grid, and of tiles: accesses on either side of one are
// ordered.

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

template <unsigned Size>
__global__ void reverse_in_tiles(int* data) {
  __shared__ int values[128];
  const auto tile =
      cooperative_groups::tiled_partition<Size>(cooperative_groups::this_thread_block());
  const unsigned i = threadIdx.x;
  values[i] = data[i];
  tile.sync();
  data[i] = values[i / 64 * 64 + 63 - i % 64];
}

TEST(CooperativeRaces, ATilesBarrierOrdersItsThreads) {
  const device_array<int> data(128, 1);
  cpu_device_testing::in_every_order([&] {
    const std::size_t before = cpu_device::report_count();
    reverse_in_tiles<64><<<1, 128>>>(data.data());
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    EXPECT_EQ(cpu_device::report_count(), before) << cpu_device::last_report();
  });
  const std::size_t before = cpu_device::report_count();
  reverse_in_tiles<32><<<1, 128>>>(data.data());
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_GT(cpu_device::report_count(), before) << "and no others";
}

}  // namespace
