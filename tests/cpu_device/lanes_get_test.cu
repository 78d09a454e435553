// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// What set_lanes_get() hides from the lanes of a warp, and what it does not. And what a lane gets
// that CUDA leaves undefined: it should not be the right value by accident.

#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cpu_device.h>
#include <cuda_fp16.h>
#include <gtest/gtest.h>
#include <mma.h>

#include <cmath>
#include <vector>

#include "cpu_device_testing.hpp"

namespace {

namespace cg = cooperative_groups;
using cpu_device::lanes_get;
using cpu_device_testing::device_array;

class LanesGet : public ::testing::Test {
 protected:
  ~LanesGet() override { cpu_device::set_lanes_get(lanes_get::everything); }
};

constexpr unsigned kAll = 0xffffffff;

/// What lane 3 gets from the others.
struct news {
  int shuffled, sum, of_group, voters;
};
__global__ void exchange(news* to) {
  const int lane = static_cast<int>(threadIdx.x);
  const news mine = {
      __shfl_down_sync(kAll, lane, 2), __reduce_add_sync(kAll, lane),
      cg::reduce(cg::tiled_partition<8>(cg::this_thread_block()), lane, cg::plus<int>()),
      __popc(__ballot_sync(kAll, lane < 5))};
  if (lane == 3) *to = mine;
}

/// A product of ones that is added to sevens.
__global__ void multiply(float* c) {
  using namespace nvcuda::wmma;
  fragment<matrix_a, 16, 16, 16, __half, row_major> a;
  fragment<matrix_b, 16, 16, 16, __half, row_major> b;
  fragment<accumulator, 16, 16, 16, float> sums;
  fill_fragment(a, __float2half(1));
  fill_fragment(b, __float2half(1));
  fill_fragment(sums, 7.0F);
  mma_sync(sums, a, b, sums);
  store_matrix_sync(c, sums, 16, mem_row_major);
}

news exchanged() {
  device_array<news> to(1, news{});
  exchange<<<1, 32>>>(to.data());
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  return to.to_host()[0];
}
float product() {
  device_array<float> c(256, 0.0F);
  multiply<<<1, 32>>>(c.data());
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  return c.to_host()[255];
}

void expect_exchange(const news& got, const news& expected) {
  EXPECT_EQ(got.shuffled, expected.shuffled);
  EXPECT_EQ(got.sum, expected.sum);
  EXPECT_EQ(got.of_group, expected.of_group);
  EXPECT_EQ(got.voters, expected.voters);
}
constexpr news kEverything = {5, 31 * 16, 28, 5};

TEST_F(LanesGet, Everything) {
  expect_exchange(exchanged(), kEverything);
  EXPECT_EQ(product(), 23);
}

TEST_F(LanesGet, NoProducts) {
  cpu_device::set_lanes_get(lanes_get::no_products);
  expect_exchange(exchanged(), kEverything);
  EXPECT_EQ(product(), 7);
}

TEST_F(LanesGet, NothingFromEachOtherButVotes) {
  cpu_device::set_lanes_get(lanes_get::no_exchange);
  expect_exchange(exchanged(), {0, 0, 0, 5});
  EXPECT_EQ(product(), 23);
}

__global__ void read_the_lane_behind_the_mask(int* whole, float* real) {
  if (threadIdx.x > 2) return;
  whole[threadIdx.x] = __shfl_sync(7U, 1, 3);
  real[threadIdx.x] = __shfl_down_sync(7U, 1.0F, 1);
}

TEST(ShuffleFromALaneOutsideTheMask, GivesNoValueOfAnyLane) {
  const device_array<int> whole(3, 0);
  const device_array<float> real(3, 0);
  read_the_lane_behind_the_mask<<<1, 32>>>(whole.data(), real.data());
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_EQ(whole.to_host(), std::vector<int>(3, -1));
  EXPECT_EQ(real.to_host()[1], 1);
  EXPECT_TRUE(std::isnan(real.to_host()[2]));
}

// --- lanes that are never together by chance -----------------------------------------------------

struct company {
  unsigned active, coalesced, voters;
};
__global__ void look_around(company* to) {
  const unsigned lane = threadIdx.x % 32;
  to[threadIdx.x] = {__activemask(), cg::coalesced_threads().num_threads(),
                     __ballot_sync(threadIdx.x < 32 ? kAll : 0xFFU, lane < 5)};
}

TEST(LanesApart, AreAloneWhereverTheyMayBe) {
  for (const bool apart : {true, false}) {
    EXPECT_EQ(cpu_device::set_lanes_apart(apart), !apart) << "what it was before";
    device_array<company> to(40, company{});
    look_around<<<1, 40>>>(to.data());
    const std::vector<company> all = to.to_host();
    for (unsigned thread = 0; thread < 40; ++thread) {
      const unsigned lane = thread % 32, lanes = thread < 32 ? kAll : 0xFFU;
      EXPECT_EQ(all[thread].active, apart ? 1U << lane : lanes) << thread;
      EXPECT_EQ(all[thread].coalesced, apart ? 1U : thread < 32 ? 32U : 8U) << thread;
      EXPECT_EQ(all[thread].voters, 0x1FU) << "whom the mask names is waited for";
    }
  }
}

}  // namespace
