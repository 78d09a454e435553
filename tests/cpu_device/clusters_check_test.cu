// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// The check build knows the shared memory of another block: a missing cluster barrier is a race,
// and so are accesses to a block that may not have started or may have exited. The correct twins
// are silent. This file is compiled the way the check build compiles kernels.

#include <cooperative_groups.h>
#include <cpu_device.h>
#include <gtest/gtest.h>

#include <cuda/atomic>
#include <initializer_list>
#include <string>
#include <vector>

#include "cpu_device_testing.hpp"

#ifdef CPU_DEVICE_CHECK

namespace {

namespace cg = cooperative_groups;
using cpu_device_testing::device_array;
using cpu_device_testing::expect_report;
using cpu_device_testing::in_every_order;

/// Everything that is reported, and how often.
template <class Body>
std::vector<std::string> said_by(Body body) {
  const std::size_t before = cpu_device::report_count();
  cpu_device::report_again();
  body();
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  const std::size_t count = cpu_device::report_count() - before;
  return std::vector<std::string>(count, count == 0 ? "" : cpu_device::last_report());
}
void expect_parts(const std::string& text, std::initializer_list<std::string> parts) {
  for (const std::string& part : parts)
    EXPECT_NE(text.find(part), std::string::npos) << "missing: " << part << "\nin: " << text;
}
/// One report, with these parts.
void expect_one(const std::vector<std::string>& said, std::initializer_list<std::string> parts) {
  ASSERT_EQ(said.size(), 1U) << (said.empty() ? "" : said.back());
  expect_parts(said.back(), parts);
}
std::string at(int line) { return " at clusters_check_test.cu:" + std::to_string(line); }

enum class barrier { none, of_block, of_cluster };
template <barrier kKind>
__device__ void put_barrier() {
  if constexpr (kKind == barrier::of_block) __syncthreads();
  if constexpr (kKind == barrier::of_cluster) cg::this_cluster().sync();
}

// --- races --------------------------------------------------------------------------------------

constexpr int kOwnWrite = __LINE__ + 7, kRemoteRead = __LINE__ + 10;
template <barrier kBetween, barrier kAtEnd>
__global__ void __cluster_dims__(2) read_the_others(int* out) {
  __shared__ int box[32];
  const cg::cluster_group cluster = cg::this_cluster();
  cluster.sync();
  const int t = static_cast<int>(threadIdx.x);
  box[t] = static_cast<int>(blockIdx.x);
  const int* const there = cluster.map_shared_rank(box, cluster.block_rank() == 0 ? 1 : 0);
  put_barrier<kBetween>();
  out[static_cast<int>(blockIdx.x) * 32 + t] = there[31 - t];
  put_barrier<kAtEnd>();
}

TEST(ClusterRaces, TheClustersBarrierOrdersBlocks) {
  in_every_order([] {
    const device_array<int> out(4 * 32, 9);
    EXPECT_TRUE(said_by([&] {
                  read_the_others<barrier::of_cluster, barrier::of_cluster><<<4, 32>>>(out.data());
                }).empty())
        << cpu_device::last_report();
    std::vector<int> expected;
    for (int b = 0; b < 4; ++b) expected.insert(expected.end(), 32, b ^ 1);
    EXPECT_EQ(out.to_host(), expected);
  });
}

TEST(ClusterRaces, AReadBeforeTheBarrierOfTheCluster) {
  in_every_order([] {
    const device_array<int> out(4 * 32, 9);
    expect_one(said_by([&] {
                 read_the_others<barrier::none, barrier::of_cluster><<<4, 32>>>(out.data());
               }),
               {"race on distributed shared memory in kernel read_the_others", at(kOwnWrite),
                at(kRemoteRead), " writes", " reads", " of block (", "this_cluster().sync()"});
  });
}

TEST(ClusterRaces, ABlocksBarrierDoesNotOrderThem) {
  in_every_order([] {
    const device_array<int> out(4 * 32, 9);
    expect_one(said_by([&] {
                 read_the_others<barrier::of_block, barrier::of_cluster><<<4, 32>>>(out.data());
               }),
               {"race on distributed shared memory", at(kOwnWrite), at(kRemoteRead),
                "__syncthreads() joins the threads of one block only"});
  });
}

constexpr int kRemoteWrite = __LINE__ + 7, kOwnRead = __LINE__ + 9;
template <barrier kBetween>
__global__ void __cluster_dims__(4) write_to_the_next(int* out) {
  extern __shared__ int inbox[];
  const cg::cluster_group cluster = cg::this_cluster();
  cluster.sync();
  const int next = static_cast<int>((cluster.block_rank() + 1) % 4);
  cluster.map_shared_rank(inbox, next)[threadIdx.x] = static_cast<int>(blockIdx.x);
  put_barrier<kBetween>();
  out[blockIdx.x * blockDim.x + threadIdx.x] = inbox[threadIdx.x];
  cluster.sync();
}

TEST(ClusterRaces, AWriteToAnotherBlock) {
  in_every_order([] {
    const device_array<int> out(4 * 16, 9);
    const auto launch = [&](auto* kernel) {
      return said_by([&] { kernel<<<4, 16, 64>>>(out.data()); });
    };
    EXPECT_TRUE(launch(write_to_the_next<barrier::of_cluster>).empty())
        << cpu_device::last_report();
    expect_one(launch(write_to_the_next<barrier::none>),
               {"race on distributed shared memory", at(kRemoteWrite), at(kOwnRead)});
    expect_one(launch(write_to_the_next<barrier::of_block>),
               {"race on distributed shared memory", at(kRemoteWrite), at(kOwnRead)});
  });
}

constexpr int kBothWrite = __LINE__ + 10;
__global__ void __cluster_dims__(4) all_write_to_the_first(int* out, bool atomically) {
  __shared__ int sum;
  const cg::cluster_group cluster = cg::this_cluster();
  sum = 0;
  cluster.sync();
  int* const there = cluster.map_shared_rank(&sum, 0);
  if (atomically)
    atomicAdd(there, 1);
  else if (cluster.block_rank() >= 2)
    *there = 5;
  cluster.sync();
  if (cluster.block_rank() == 0) *out = sum;
}

TEST(ClusterRaces, TwoBlocksThatWriteToAThird) {
  in_every_order([] {
    const device_array<int> out(1, 9);
    expect_one(said_by([&] { all_write_to_the_first<<<4, 1>>>(out.data(), false); }),
               {"race on distributed shared memory", at(kBothWrite), "of block (2,0,0)",
                "of block (3,0,0)"});
  });
}

TEST(ClusterRaces, AtomicsAreNone) {
  in_every_order([] {
    const device_array<int> out(1, 9);
    EXPECT_TRUE(said_by([&] { all_write_to_the_first<<<4, 1>>>(out.data(), true); }).empty())
        << cpu_device::last_report();
    EXPECT_EQ(out.to_host()[0], 4);
  });
}

__global__ void __cluster_dims__(2) count_with_block_scope(int* out) {
  __shared__ int sum;
  const cg::cluster_group cluster = cg::this_cluster();
  if (threadIdx.x == 0) sum = 0;
  cluster.sync();
  atomicAdd_block(cluster.map_shared_rank(&sum, 0), 1);
  cluster.sync();
  if (threadIdx.x == 0 && cluster.block_rank() == 0) *out = sum;
}

TEST(ClusterRaces, AtomicsOfBlockScopeAreTooNarrow) {
  in_every_order([] {
    const device_array<int> out(1, 9);
    expect_one(said_by([&] { count_with_block_scope<<<2, 8>>>(out.data()); }),
               {"scope too narrow: race on shared memory", "for its block only"});
  });
}

/// A flag in the other block's shared memory hands over the data: a release and an acquire.
template <cuda::memory_order kStore, cuda::memory_order kLoad>
__global__ void __cluster_dims__(2) hand_over(int* out) {
  __shared__ int data, flag;
  const cg::cluster_group cluster = cg::this_cluster();
  data = 0;
  flag = 0;
  cluster.sync();
  if (cluster.block_rank() == 0) {
    *cluster.map_shared_rank(&data, 1) = 42;
    cuda::atomic_ref<int, cuda::thread_scope_device>(*cluster.map_shared_rank(&flag, 1))
        .store(1, kStore);
  } else {
    const cuda::atomic_ref<int, cuda::thread_scope_device> mine(flag);
    while (mine.load(kLoad) == 0) {
    }
    *out = data;
  }
  cluster.sync();
}

TEST(ClusterRaces, ReleaseAndAcquireOrderBlocks) {
  in_every_order([] {
    const device_array<int> out(1, 9);
    EXPECT_TRUE(said_by([&] {
                  hand_over<cuda::memory_order_release, cuda::memory_order_acquire>
                      <<<2, 1>>>(out.data());
                }).empty())
        << cpu_device::last_report();
    EXPECT_EQ(out.to_host()[0], 42);
  });
}

TEST(ClusterRaces, RelaxedAtomicsDoNot) {
  in_every_order([] {
    const device_array<int> out(1, 9);
    expect_one(said_by([&] {
                 hand_over<cuda::memory_order_relaxed, cuda::memory_order_relaxed>
                     <<<2, 1>>>(out.data());
               }),
               {"race on distributed shared memory", "an atomic function orders nothing"});
  });
}

template <bool kWithBarrier>
__global__ void __cluster_dims__(2) through_global_memory(int* data, int* out) {
  data[blockIdx.x] = static_cast<int>(blockIdx.x);
  if constexpr (kWithBarrier) cg::this_cluster().sync();
  out[blockIdx.x] = data[blockIdx.x ^ 1U];
}

TEST(ClusterRaces, OnGlobalMemoryAreOrderedByTheClustersBarrier) {
  in_every_order([] {
    const device_array<int> data(8, 0), out(8, 0);
    EXPECT_TRUE(
        said_by([&] { through_global_memory<true><<<8, 1>>>(data.data(), out.data()); }).empty())
        << cpu_device::last_report();
    EXPECT_EQ(out.to_host(), (std::vector<int>{1, 0, 3, 2, 5, 4, 7, 6}));
    expect_one(said_by([&] { through_global_memory<false><<<8, 1>>>(data.data(), out.data()); }),
               {"race on global memory in kernel through_global_memory"});
  });
}

/// The second cluster writes and sets a flag; the first one has its own barrier after that.
__global__ void __cluster_dims__(2) across_clusters(int* data, int* flag, int* out) {
  if (blockIdx.x >= 2) {
    data[blockIdx.x] = 1;
    atomicAdd(flag, 1);
  } else {
    while (atomicAdd(flag, 0) < 2) {
    }
  }
  cg::this_cluster().sync();
  if (blockIdx.x < 2) out[blockIdx.x] = data[blockIdx.x + 2];
}

TEST(ClusterRaces, OfTwoClustersAreNotOrdered) {
  in_every_order([] {
    const device_array<int> data(4, 0), flag(1, 0), out(4, 0);
    expect_one(said_by([&] { across_clusters<<<4, 1>>>(data.data(), flag.data(), out.data()); }),
               {"race on global memory"});
  });
}

// --- the life of a block's shared memory --------------------------------------------------------

TEST(ClusterLifetime, ABlockLeavesWhileAnotherOneReads) {
  in_every_order([] {
    const device_array<int> out(4 * 32, 9);
    expect_one(
        said_by(
            [&] { read_the_others<barrier::of_cluster, barrier::none><<<4, 32>>>(out.data()); }),
        {"shared memory of a block that may have left, in kernel read_the_others",
         " reads the shared memory of block (", at(kRemoteRead), "at the end of the kernel"});
  });
}

/// The block leaves after the other one has read, but nothing orders the two.
__global__ void __cluster_dims__(2) leave_after_a_read(int* flag, int* out) {
  __shared__ int box;
  const cg::cluster_group cluster = cg::this_cluster();
  box = 1;
  cluster.sync();
  if (cluster.block_rank() == 0) {
    while (atomicAdd(flag, 0) == 0) {
    }
  } else {
    *out = *cluster.map_shared_rank(&box, 0);
    atomicAdd(flag, 1);
  }
}

TEST(ClusterLifetime, ABlockLeavesAfterAnotherOneHasRead) {
  in_every_order([] {
    const device_array<int> flag(1, 0), out(1, 0);
    expect_one(said_by([&] { leave_after_a_read<<<2, 1>>>(flag.data(), out.data()); }),
               {"shared memory of a block that may have left", " of block (1,0,0) reads"});
  });
}

constexpr int kEarlyWrite = __LINE__ + 6;
template <bool kWithBarrier>
__global__ void __cluster_dims__(2) write_at_once(int* out) {
  __shared__ int box;
  const cg::cluster_group cluster = cg::this_cluster();
  if constexpr (kWithBarrier) cluster.sync();
  *cluster.map_shared_rank(&box, cluster.block_rank() == 0 ? 1 : 0) = 7;
  cluster.sync();
  out[blockIdx.x] = box;
}

TEST(ClusterLifetime, ABlockThatMayNotHaveBegun) {
  in_every_order([] {
    const device_array<int> out(2, 9);
    EXPECT_TRUE(said_by([&] { write_at_once<true><<<2, 1>>>(out.data()); }).empty())
        << cpu_device::last_report();
    expect_one(
        said_by([&] { write_at_once<false><<<2, 1>>>(out.data()); }),
        {"shared memory of a block that may not have begun, in kernel write_at_once",
         " writes to the shared memory of block (", at(kEarlyWrite), "before the first access"});
  });
}

// --- bounds -------------------------------------------------------------------------------------

constexpr int kPastTheEnd = __LINE__ + 5;
__global__ void __cluster_dims__(2) past_the_end(int* out, int i) {
  extern __shared__ int mine[];
  mine[threadIdx.x] = 1;
  cg::this_cluster().sync();
  out[threadIdx.x] = cg::this_cluster().map_shared_rank(mine, blockIdx.x == 0 ? 1 : 0)[i];
  cg::this_cluster().sync();
}

TEST(ClusterBounds, AnElementPastTheEndOfAnotherBlocksMemory) {
  for (const int i : {16, -1}) {
    int* out = nullptr;  // until the reset
    ASSERT_EQ(cudaMalloc(&out, 16 * sizeof(int)), cudaSuccess);
    const std::string text =
        expect_report([&] { past_the_end<<<2, 16, 64>>>(out, i); }, cudaErrorIllegalAddress);
    expect_parts(text, {i < 0 ? "before the begin" : "past the end", "element " + std::to_string(i),
                        at(kPastTheEnd), "dynamic shared memory (64 bytes"});
  }
}

}  // namespace

#endif
