// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Clusters of blocks and their distributed shared memory. Runs on the CPU device and on a GPU.
//
// Needs compute capability 9.0

#include <cooperative_groups.h>

#include <numeric>
#include <string>
#include <tuple>

#include "conformance.hpp"

namespace {

namespace cg = cooperative_groups;
using conformance::device_array;
using conformance::in_every_order;

/// A launch with clusters: the configuration and its attribute.
struct cluster_launch {
  cudaLaunchConfig_t config = {};
  cudaLaunchAttribute attribute = {};

  cluster_launch(dim3 grid, dim3 block, dim3 cluster, std::size_t shared_bytes = 0) {
    config.gridDim = grid;
    config.blockDim = block;
    config.dynamicSmemBytes = shared_bytes;
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim.x = cluster.x;
    attribute.val.clusterDim.y = cluster.y;
    attribute.val.clusterDim.z = cluster.z;
    config.attrs = &attribute;
    config.numAttrs = 1;
  }
  cluster_launch(const cluster_launch&) = delete;
  cluster_launch& operator=(const cluster_launch&) = delete;
};

// --- where a block is ---------------------------------------------------------------------------

struct place {
  dim3 index, blocks, threads, thread, cluster, clusters;
  unsigned rank, count, thread_rank, thread_count;
  unsigned long long cluster_rank, cluster_count;
};

__global__ void note_places(place* out) {
  const cg::cluster_group cluster = cg::this_cluster();
  const cg::grid_group grid = cg::this_grid();
  const std::size_t block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  if (threadIdx.x + 1 != blockDim.x || threadIdx.y + 1 != blockDim.y) return;
  place& p = out[block];
  p.index = cluster.block_index();
  p.blocks = cluster.dim_blocks();
  p.threads = cluster.dim_threads();
  p.thread = cluster.thread_index();
  p.cluster = grid.cluster_index();
  p.clusters = grid.dim_clusters();
  p.rank = cluster.block_rank();
  p.count = cluster.num_blocks();
  p.thread_rank = cluster.thread_rank();
  p.thread_count = cluster.num_threads();
  p.cluster_rank = grid.cluster_rank();
  p.cluster_count = grid.num_clusters();
}

std::vector<unsigned> numbers(dim3 d) { return {d.x, d.y, d.z}; }

void expect_places(const std::vector<place>& places, dim3 grid, dim3 block, dim3 cluster) {
  const dim3 clusters(grid.x / cluster.x, grid.y / cluster.y, grid.z / cluster.z);
  const unsigned threads = block.x * block.y;
  for (unsigned b = 0; b < places.size(); ++b) {
    SCOPED_TRACE("block " + std::to_string(b));
    const dim3 at(b % grid.x, b / grid.x % grid.y, b / grid.x / grid.y);
    const dim3 in(at.x % cluster.x, at.y % cluster.y, at.z % cluster.z);
    const dim3 which(at.x / cluster.x, at.y / cluster.y, at.z / cluster.z);
    const place& p = places[b];
    EXPECT_EQ(numbers(p.index), numbers(in));
    EXPECT_EQ(numbers(p.blocks), numbers(cluster));
    EXPECT_EQ(numbers(p.threads),
              numbers(dim3(cluster.x * block.x, cluster.y * block.y, cluster.z)));
    EXPECT_EQ(numbers(p.thread),
              numbers(dim3(in.x * block.x + block.x - 1, in.y * block.y + block.y - 1, in.z)));
    EXPECT_EQ(numbers(p.cluster), numbers(which));
    EXPECT_EQ(numbers(p.clusters), numbers(clusters));
    EXPECT_EQ(p.rank, (in.z * cluster.y + in.y) * cluster.x + in.x);
    EXPECT_EQ(p.count, cluster.x * cluster.y * cluster.z);
    EXPECT_EQ(p.thread_rank, p.rank * threads + threads - 1);
    EXPECT_EQ(p.thread_count, p.count * threads);
    EXPECT_EQ(p.cluster_rank, (which.z * clusters.y + which.y) * clusters.x + which.x);
    EXPECT_EQ(p.cluster_count, clusters.x * clusters.y * clusters.z);
  }
}

TEST(Clusters, OfOneTwoAndThreeDimensionsKnowTheirPlace) {
  in_every_order([] {
    for (const auto& [grid, cluster] :
         {std::tuple{dim3(6), dim3(1)}, std::tuple{dim3(6), dim3(2)}, std::tuple{dim3(24), dim3(8)},
          std::tuple{dim3(6, 4), dim3(3, 2)}, std::tuple{dim3(3, 8), dim3(1, 4)},
          std::tuple{dim3(4, 6, 4), dim3(2, 2, 2)}, std::tuple{dim3(2, 3, 5), dim3(1, 1, 5)}}) {
      const device_array<place> out(
          std::vector<place>(std::size_t{grid.x} * grid.y * grid.z, place{}));
      const dim3 block(5, 3);
      const cluster_launch launch(grid, block, cluster);
      ASSERT_EQ(cudaLaunchKernelEx(&launch.config, note_places, out.data()), cudaSuccess);
      expect_places(out.to_host(), grid, block, cluster);
    }
  });
}

TEST(Clusters, AreSingleBlocksWithoutAClusterLaunch) {
  in_every_order([] {
    const device_array<place> out(std::vector<place>(6, place{}));
    note_places<<<dim3(3, 2), dim3(4, 2)>>>(out.data());
    ASSERT_EQ(cudaGetLastError(), cudaSuccess);
    expect_places(out.to_host(), dim3(3, 2), dim3(4, 2), dim3(1));
  });
}

// --- the barrier and the shared memory of other blocks ------------------------------------------

/// Each block passes its number to the next one of its cluster, round by round.
__global__ void __cluster_dims__(4, 1, 1) pass_around(int* out, int rounds) {
  __shared__ int mine, next;
  const cg::cluster_group cluster = cg::this_cluster();
  if (threadIdx.x == 0) mine = static_cast<int>(blockIdx.x);
  for (int round = 0; round < rounds; ++round) {
    cluster.sync();
    if (threadIdx.x == 0)
      *cluster.map_shared_rank(&next, static_cast<int>((cluster.block_rank() + 1) % 4)) = mine;
    cluster.sync();
    if (threadIdx.x == 0) mine = next;
  }
  if (threadIdx.x == 0) out[blockIdx.x] = mine;
}

TEST(Clusters, OfTheKernelsDeclarationPassValuesAround) {
  in_every_order([] {
    for (const int rounds : {0, 1, 2, 5, 40}) {
      const device_array<int> out(12, -1);
      pass_around<<<12, 33>>>(out.data(), rounds);
      ASSERT_EQ(cudaGetLastError(), cudaSuccess);
      std::vector<int> expected(12);
      for (int b = 0; b < 12; ++b)
        expected[static_cast<std::size_t>(b)] = b / 4 * 4 + ((b % 4 - rounds) % 4 + 4) % 4;
      EXPECT_EQ(out.to_host(), expected) << rounds;
    }
  });
}

template <int kBlocks>
__global__ void __cluster_dims__(kBlocks) sum_of_ranks(unsigned* out) {
  __shared__ unsigned rank;
  const cg::cluster_group cluster = cg::this_cluster();
  rank = cluster.block_rank();
  cluster.sync();
  unsigned sum = 0;
  for (unsigned r = 0; r < cluster.num_blocks(); ++r)
    sum += *cluster.map_shared_rank(&rank, static_cast<int>(r));
  out[blockIdx.x] = sum;
  cluster.sync();
}

TEST(Clusters, OfATemplatesArgument) {
  in_every_order([] {
    const device_array<unsigned> out(16, 99U);
    sum_of_ranks<2><<<16, 1>>>(out.data());
    EXPECT_EQ(out.to_host(), std::vector<unsigned>(16, 1));
    sum_of_ranks<8><<<16, 1>>>(out.data());
    EXPECT_EQ(out.to_host(), std::vector<unsigned>(16, 28));
    sum_of_ranks<1><<<16, 1>>>(out.data());
    EXPECT_EQ(out.to_host(), std::vector<unsigned>(16, 0));
    unsigned* o = out.data();
    void* arguments[] = {&o};
    ASSERT_EQ(cudaLaunchKernel((void*)sum_of_ranks<4>, dim3(16), dim3(1), arguments, 0, nullptr),
              cudaSuccess);
    EXPECT_EQ(out.to_host(), std::vector<unsigned>(16, 6));
  });
}

/// The bins are spread over the blocks of a cluster, each has an equal share.
__global__ void histogram(const int* in, int n, int* bins, int bins_per_block) {
  extern __shared__ int mine[];
  const cg::cluster_group cluster = cg::this_cluster();
  for (int i = static_cast<int>(threadIdx.x); i < bins_per_block; i += static_cast<int>(blockDim.x))
    mine[i] = 0;
  cluster.sync();  // all blocks have begun, and their bins are zero
  const int step = static_cast<int>(gridDim.x * blockDim.x);
  for (int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x); i < n; i += step) {
    const int bin = in[i];
    int* const there = cluster.map_shared_rank(mine, bin / bins_per_block);
    atomicAdd(there + bin % bins_per_block, 1);
  }
  cluster.sync();  // all have counted: no thread writes here any more, and blocks may exit
  int* const first = bins + cluster.block_rank() * static_cast<unsigned>(bins_per_block);
  for (int i = static_cast<int>(threadIdx.x); i < bins_per_block; i += static_cast<int>(blockDim.x))
    atomicAdd(first + i, mine[i]);
}

TEST(DistributedSharedMemory, HoldsAHistogram) {
  in_every_order([] {
    std::mt19937 random(7);
    std::vector<int> host(5003);
    constexpr int kBins = 96;
    for (int& x : host) x = static_cast<int>(random() % kBins * (random() % kBins) / kBins);
    std::vector<int> expected(kBins, 0);
    for (const int x : host) ++expected[static_cast<std::size_t>(x)];
    const device_array<int> in(host);
    for (const unsigned blocks : {1U, 2U, 8U}) {
      const device_array<int> bins(kBins, 0);
      const int share = kBins / static_cast<int>(blocks);
      const cluster_launch launch(dim3(16), dim3(64), dim3(blocks),
                                  static_cast<std::size_t>(share) * sizeof(int));
      ASSERT_EQ(cudaLaunchKernelEx(&launch.config, histogram, in.data(),
                                   static_cast<int>(host.size()), bins.data(), share),
                cudaSuccess);
      EXPECT_EQ(bins.to_host(), expected) << blocks;
    }
  });
}

/// A cluster adds up its part of the input: the first block reads what the others have.
__global__ void reduce(const float* in, float* out) {
  __shared__ float partial[64];
  const cg::cluster_group cluster = cg::this_cluster();
  partial[threadIdx.x] = in[blockIdx.x * blockDim.x + threadIdx.x];
  for (unsigned half = blockDim.x / 2; half != 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) partial[threadIdx.x] += partial[threadIdx.x + half];
  }
  cluster.sync();
  if (cluster.thread_rank() == 0) {
    float sum = 0;
    for (unsigned r = 0; r < cluster.num_blocks(); ++r)
      sum += cluster.map_shared_rank(partial, static_cast<int>(r))[0];
    out[blockIdx.x / cluster.num_blocks()] = sum;
  }
  cluster.sync();  // no block leaves while the first one reads
}

TEST(DistributedSharedMemory, HoldsTheSumsOfAReduction) {
  in_every_order([] {
    constexpr std::size_t kBlocks = 24;
    std::vector<float> host(kBlocks * 64);
    std::iota(host.begin(), host.end(), -500.0F);
    const device_array<float> in(host);
    for (const std::size_t size : {1, 2, 3, 8}) {
      const device_array<float> out(kBlocks / size, -1.0F);
      const cluster_launch launch(dim3(kBlocks), dim3(64), dim3(static_cast<unsigned>(size)));
      ASSERT_EQ(cudaLaunchKernelEx(&launch.config, reduce, in.data(), out.data()), cudaSuccess);
      std::vector<float> expected;
      for (std::size_t c = 0; c < kBlocks / size; ++c)
        expected.push_back(std::accumulate(host.begin() + static_cast<long>(c * size * 64),
                                           host.begin() + static_cast<long>((c + 1) * size * 64),
                                           0.0F));
      EXPECT_EQ(out.to_host(), expected) << size;
    }
  });
}

/// Arrives, works on its own, and waits.
__global__ void __cluster_dims__(2) split_barrier(int* out, bool with_token) {
  __shared__ int value[32];
  const cg::cluster_group cluster = cg::this_cluster();
  int own = 0;
  value[threadIdx.x] = static_cast<int>(blockIdx.x * 100 + threadIdx.x);
  if (with_token) {
    cg::cluster_group::arrival_token token = cluster.barrier_arrive();
    for (int i = 0; i < 10; ++i) own += i;
    cluster.barrier_wait(std::move(token));
  } else {
    cluster.barrier_arrive();
    for (int i = 0; i < 10; ++i) own += i;
    cluster.barrier_wait();
  }
  const int other = static_cast<int>(cluster.block_rank() ^ 1U);
  out[blockIdx.x * blockDim.x + threadIdx.x] =
      own + cluster.map_shared_rank(value, other)[31 - threadIdx.x];
  cluster.sync();
}

TEST(Clusters, ArriveAndWait) {
  in_every_order([] {
    for (const bool with_token : {false, true}) {
      const device_array<int> out(4 * 32, 0);
      split_barrier<<<4, 32>>>(out.data(), with_token);
      std::vector<int> expected;
      for (int b = 0; b < 4; ++b)
        for (int t = 0; t < 32; ++t) expected.push_back(45 + (b ^ 1) * 100 + 31 - t);
      EXPECT_EQ(out.to_host(), expected);
    }
  });
}

/// The second block finishes its wait, and only then does the first one finish its work in between.
__global__ void __cluster_dims__(2) work_that_needs_the_other(int* flag, int* out) {
  const cg::cluster_group cluster = cg::this_cluster();
  cluster.barrier_arrive();
  if (cluster.block_rank() == 0 && threadIdx.x == 0)
    while (atomicAdd(flag, 0) == 0) {
    }
  cluster.barrier_wait();
  if (cluster.block_rank() == 1 && threadIdx.x == 0) atomicAdd(flag, 1);
  if (threadIdx.x == 0) atomicAdd(out, 1);
}

TEST(Clusters, WaitForArrivalsOnly) {
  in_every_order([] {
    const device_array<int> flag(1, 0), out(1, 0);
    work_that_needs_the_other<<<2, 64>>>(flag.data(), out.data());
    EXPECT_EQ(out.to_host()[0], 2);
  });
}

/// Some blocks arrive and leave: the others must not wait for them a second time, nor in vain.
__global__ void __cluster_dims__(4) arrive_and_leave(int* out) {
  const cg::cluster_group cluster = cg::this_cluster();
  cluster.barrier_arrive();
  if (cluster.block_rank() < 2) return;
  cluster.barrier_wait();
  if (threadIdx.x == 0) atomicAdd(out, 1);
}

TEST(Clusters, NeedNotWaitWhereTheyHaveArrived) {
  in_every_order([] {
    const device_array<int> out(1, 0);
    arrive_and_leave<<<16, 40>>>(out.data());
    EXPECT_EQ(out.to_host()[0], 8);
  });
}

/// One thread of the block waits for a cluster that has met, while another one spins for it.
__global__ void __cluster_dims__(2) spin_beside_a_wait(int* out) {
  __shared__ int flag;
  if (threadIdx.x == 0) flag = 0;
  __syncthreads();
  const cg::cluster_group cluster = cg::this_cluster();
  cluster.barrier_arrive();
  if (threadIdx.x == 63)
    while (atomicAdd(&flag, 0) == 0) {
    }
  cluster.barrier_wait();
  if (threadIdx.x == 5) atomicAdd(&flag, 1);
  __syncthreads();
  if (threadIdx.x == 0) out[blockIdx.x] = flag;
}

TEST(Clusters, LetThreadsGoWhileOthersOfTheBlockSpin) {
  in_every_order([] {
    const device_array<int> out(4, 0);
    spin_beside_a_wait<<<4, 64>>>(out.data());
    EXPECT_EQ(out.to_host(), std::vector<int>(4, 1));
  });
}

__global__ void __cluster_dims__(2, 2) ask_for_ranks(unsigned* out) {
  __shared__ int variable[4];
  extern __shared__ int dynamic[];
  const cg::cluster_group cluster = cg::this_cluster();
  cluster.sync();
  unsigned right = 0;
  for (int r = 0; r < 4; ++r) {
    right += cluster.query_shared_rank(cluster.map_shared_rank(variable + 3, r)) ==
             static_cast<unsigned>(r);
    right += cluster.query_shared_rank(cluster.map_shared_rank(dynamic + r, r)) ==
             static_cast<unsigned>(r);
  }
  right += cluster.query_shared_rank(variable) == cluster.block_rank();
  const int own = static_cast<int>(cluster.block_rank());
  right += cluster.query_shared_rank(cluster.map_shared_rank(dynamic, own)) == cluster.block_rank();
  out[blockIdx.y * gridDim.x + blockIdx.x] = right;
  cluster.sync();
}

TEST(DistributedSharedMemory, KnowsWhoseItIs) {
  in_every_order([] {
    const device_array<unsigned> out(16, 0U);
    ask_for_ranks<<<dim3(4, 4), 1, 64>>>(out.data());
    EXPECT_EQ(out.to_host(), std::vector<unsigned>(16, 10));
  });
}

/// A pointer may be created before the other block has started, and used once it certainly has.
__global__ void __cluster_dims__(8) late_block(const int* in, int* out, int late) {
  __shared__ int box[8];
  const cg::cluster_group cluster = cg::this_cluster();
  const unsigned rank = cluster.block_rank();
  int* const there = cluster.map_shared_rank(box, static_cast<int>((rank + 3) % 8));
  unsigned sum = 0;
  if (static_cast<int>(rank) == late)  // much to do before its first barrier
    for (unsigned i = 0; i < 200000; ++i) sum = sum * 5 + static_cast<unsigned>(in[i % 8]);
  cluster.sync();
  there[rank] = static_cast<int>(rank * 10 + (sum == 12345));
  cluster.sync();
  out[blockIdx.x] = box[(rank + 5) % 8];
}

TEST(DistributedSharedMemory, OfABlockThatComesLate) {
  in_every_order([] {
    const device_array<int> in(8, 3);
    for (const int late : {0, 3, 7}) {
      const device_array<int> out(16, -1);
      late_block<<<16, 1>>>(in.data(), out.data(), late);
      std::vector<int> expected;
      for (int b = 0; b < 16; ++b) expected.push_back((b + 5) % 8 * 10);
      EXPECT_EQ(out.to_host(), expected);
    }
  });
}

/// Blocks of a cluster that take turns: all of them run at the same time.
__global__ void __cluster_dims__(8) take_turns(int* turns, int rounds) {
  __shared__ int turn;
  const cg::cluster_group cluster = cg::this_cluster();
  if (threadIdx.x == 0) turn = 0;
  cluster.sync();
  int* const shared_turn = cluster.map_shared_rank(&turn, 0);
  const int rank = static_cast<int>(cluster.block_rank());
  if (threadIdx.x == 0) {
    for (int round = 0; round < rounds; ++round) {
      while (atomicAdd(shared_turn, 0) != round * 8 + rank) {
      }
      atomicAdd(turns + blockIdx.x / 8, 1);
      atomicAdd(shared_turn, 1);
    }
  }
  cluster.sync();
}

TEST(Clusters, RunAllOfTheirBlocksAtTheSameTime) {
  in_every_order([] {
    const device_array<int> turns(3, 0);
    take_turns<<<24, 2>>>(turns.data(), 3);
    EXPECT_EQ(turns.to_host(), std::vector<int>(3, 24));
  });
}

/// Each cluster waits for all others: as many as run at the same time make progress.
__global__ void __cluster_dims__(2) wait_for_other_clusters(int* arrived, int* out) {
  const cg::cluster_group cluster = cg::this_cluster();
  cluster.sync();
  if (threadIdx.x == 0) {
    atomicAdd(arrived, 1);
    while (atomicAdd(arrived, 0) < static_cast<int>(gridDim.x)) {
    }
  }
  cluster.sync();
  if (threadIdx.x == 0) atomicAdd(out, 1);
}

TEST(Clusters, OfOneLaunchMayWaitForEachOther) {
  in_every_order([] {
    const device_array<int> arrived(1, 0), out(1, 0);
    wait_for_other_clusters<<<12, 32>>>(arrived.data(), out.data());
    EXPECT_EQ(out.to_host()[0], 12);
  });
}

__global__ void grid_and_cluster(int* counters, int* wrong) {
  __shared__ int mine;
  const cg::cluster_group cluster = cg::this_cluster();
  mine = 1;
  cluster.sync();
  int sum = 0;
  for (unsigned r = 0; r < cluster.num_blocks(); ++r)
    sum += *cluster.map_shared_rank(&mine, static_cast<int>(r));
  atomicAdd(counters, sum);
  cg::this_grid().sync();
  if (atomicAdd(counters, 0) != static_cast<int>(gridDim.x * cluster.num_blocks()))
    atomicAdd(wrong, 1);
}

TEST(Clusters, CooperateAsAGrid) {
  in_every_order([] {
    const device_array<int> counters(1, 0), wrong(1, 0);
    cluster_launch launch(dim3(8), dim3(1), dim3(2));
    cudaLaunchAttribute attributes[2] = {launch.attribute, {}};
    attributes[1].id = cudaLaunchAttributeCooperative;
    attributes[1].val.cooperative = 1;
    launch.config.attrs = attributes;
    launch.config.numAttrs = 2;
    ASSERT_EQ(cudaLaunchKernelEx(&launch.config, grid_and_cluster, counters.data(), wrong.data()),
              cudaSuccess);
    EXPECT_EQ(counters.to_host()[0], 16);
    EXPECT_EQ(wrong.to_host()[0], 0);
  });
}

// --- the host's side ----------------------------------------------------------------------------

__global__ void count_blocks(int* out) {
  if (threadIdx.x == 0) atomicAdd(out, static_cast<int>(cg::this_cluster().num_blocks()));
}
__global__ void count_blocks_again(int* out) {
  if (threadIdx.x == 0) atomicAdd(out, static_cast<int>(cg::this_cluster().num_blocks()));
}

/// What a launch with this grid and cluster answers; it must not have run if that is an error.
template <class Kernel>
cudaError_t launched(Kernel* kernel, dim3 grid, dim3 cluster) {
  const device_array<int> out(1, 0);
  const cluster_launch launch(grid, dim3(32), cluster);
  const cudaError_t status = cudaLaunchKernelEx(&launch.config, kernel, out.data());
  EXPECT_EQ(cudaGetLastError(), status);
  EXPECT_EQ(out.to_host()[0],
            status == cudaSuccess
                ? static_cast<int>(grid.x * grid.y * grid.z * cluster.x * cluster.y * cluster.z)
                : 0);
  return status;
}

TEST(ClusterLaunch, TakesEightBlocks) {
  EXPECT_EQ(launched(count_blocks, dim3(16), dim3(8)), cudaSuccess);
  EXPECT_EQ(launched(count_blocks, dim3(4, 4, 4), dim3(2, 2, 2)), cudaSuccess);
  EXPECT_EQ(launched(count_blocks, dim3(4, 4, 4), dim3(1, 4, 2)), cudaSuccess);
}

TEST(ClusterLaunch, TakesSixteenWithTheAttributeOnly) {
  EXPECT_EQ(launched(count_blocks_again, dim3(32), dim3(16)), cudaErrorInvalidClusterSize);
  EXPECT_EQ(launched(count_blocks_again, dim3(9), dim3(9)), cudaErrorInvalidClusterSize);
  ASSERT_EQ(
      cudaFuncSetAttribute(count_blocks_again, cudaFuncAttributeNonPortableClusterSizeAllowed, 1),
      cudaSuccess);
  EXPECT_EQ(launched(count_blocks_again, dim3(32), dim3(16)), cudaSuccess);
  EXPECT_EQ(launched(count_blocks_again, dim3(64), dim3(32)), cudaErrorInvalidClusterSize);
  ASSERT_EQ(
      cudaFuncSetAttribute(count_blocks_again, cudaFuncAttributeNonPortableClusterSizeAllowed, 0),
      cudaSuccess);
  EXPECT_EQ(launched(count_blocks_again, dim3(32), dim3(16)), cudaErrorInvalidClusterSize);
}

TEST(ClusterLaunch, WantsWholeClusters) {
  // The documents ask for it and name no error of its own.
  for (const auto& [grid, cluster] :
       {std::tuple{dim3(7), dim3(2)}, std::tuple{dim3(2, 6), dim3(1, 4)}}) {
    const cudaError_t status = launched(count_blocks, grid, cluster);
    EXPECT_TRUE(status == cudaErrorInvalidClusterSize || status == cudaErrorInvalidValue ||
                status == cudaErrorInvalidConfiguration)
        << cudaGetErrorName(status);
  }
}

TEST(ClusterLaunch, CannotChangeTheKernelsDeclaration) {
  const device_array<unsigned> out(8, 0U);
  cluster_launch launch(dim3(8), dim3(1), dim3(4));
  EXPECT_NE(cudaLaunchKernelEx(&launch.config, sum_of_ranks<2>, out.data()), cudaSuccess);
  EXPECT_NE(cudaGetLastError(), cudaSuccess);
  launch.attribute.val.clusterDim.x = 2;
  EXPECT_EQ(cudaLaunchKernelEx(&launch.config, sum_of_ranks<2>, out.data()), cudaSuccess);
  EXPECT_EQ(out.to_host(), std::vector<unsigned>(8, 1));
}

TEST(ClusterLaunch, RefusesAttributesThatThereAreNot) {
  const device_array<int> out(1, 0);
  cluster_launch launch(dim3(8), dim3(1), dim3(4));
  launch.attribute.id = static_cast<cudaLaunchAttributeID>(12345);
  EXPECT_EQ(cudaLaunchKernelEx(&launch.config, count_blocks, out.data()), cudaErrorInvalidValue);
  cudaGetLastError();
  launch.attribute.id = cudaLaunchAttributeIgnore;
  EXPECT_EQ(cudaLaunchKernelEx(&launch.config, count_blocks, out.data()), cudaSuccess);
  EXPECT_EQ(out.to_host()[0], 8);
}

TEST(ClusterLaunch, IsAPropertyOfTheDevice) {
  int value = 0;
  ASSERT_EQ(cudaDeviceGetAttribute(&value, cudaDevAttrClusterLaunch, 0), cudaSuccess);
  EXPECT_EQ(value, 1);
}

TEST(ClusterLaunch, IsAnAttributeOfTheKernel) {
  cudaFuncAttributes attributes;
  ASSERT_EQ(cudaFuncGetAttributes(&attributes, ask_for_ranks), cudaSuccess);
  EXPECT_EQ(attributes.requiredClusterWidth, 2);
  EXPECT_EQ(attributes.requiredClusterHeight, 2);
  EXPECT_EQ(attributes.requiredClusterDepth, 1);
  ASSERT_EQ(cudaFuncGetAttributes(&attributes, count_blocks), cudaSuccess);
  EXPECT_EQ(attributes.requiredClusterWidth, 0);
  EXPECT_EQ(attributes.nonPortableClusterSizeAllowed, 0);
}

TEST(ClusterOccupancy, GivesTheLargestCluster) {
  cluster_launch launch(dim3(64), dim3(64), dim3(1));
  int size = 0;
  ASSERT_EQ(cudaOccupancyMaxPotentialClusterSize(&size, count_blocks, &launch.config), cudaSuccess);
  EXPECT_EQ(size, 8);
  EXPECT_EQ(cudaOccupancyMaxPotentialClusterSize(&size, sum_of_ranks<2>, &launch.config),
            cudaErrorInvalidClusterSize)
      << "clusters of one block are asked for, and the kernel was compiled for two";
  cudaGetLastError();
  launch.config.numAttrs = 0;
  ASSERT_EQ(cudaOccupancyMaxPotentialClusterSize(&size, sum_of_ranks<2>, &launch.config),
            cudaSuccess);
  EXPECT_EQ(size, 8) << "the largest, whatever the kernel was compiled for";
  ASSERT_EQ(
      cudaFuncSetAttribute(count_blocks_again, cudaFuncAttributeNonPortableClusterSizeAllowed, 1),
      cudaSuccess);
  ASSERT_EQ(cudaOccupancyMaxPotentialClusterSize(&size, count_blocks_again, &launch.config),
            cudaSuccess);
  EXPECT_GE(size, 8);
  ASSERT_EQ(
      cudaFuncSetAttribute(count_blocks_again, cudaFuncAttributeNonPortableClusterSizeAllowed, 0),
      cudaSuccess);
}

TEST(ClusterOccupancy, CountsClustersThatRunAtTheSameTime) {
  int pairs = 0, eights = 0;
  const cluster_launch two(dim3(64), dim3(1024), dim3(2)), eight(dim3(64), dim3(1024), dim3(8));
  ASSERT_EQ(cudaOccupancyMaxActiveClusters(&pairs, count_blocks, &two.config), cudaSuccess);
  ASSERT_EQ(cudaOccupancyMaxActiveClusters(&eights, count_blocks, &eight.config), cudaSuccess);
  EXPECT_GE(eights, 1);
  EXPECT_GE(pairs, eights);
  cluster_launch none(dim3(64), dim3(64), dim3(1));
  none.config.numAttrs = 0;
  EXPECT_EQ(cudaOccupancyMaxActiveClusters(&pairs, sum_of_ranks<2>, &none.config), cudaSuccess);
  EXPECT_GE(pairs, 1);
}

TEST(ClusterLaunch, IsCapturedInAGraph) {
  cudaStream_t stream = nullptr;
  ASSERT_EQ(cudaStreamCreate(&stream), cudaSuccess);
  const device_array<unsigned> out(8, 0U);
  ASSERT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), cudaSuccess);
  sum_of_ranks<4><<<8, 1, 0, stream>>>(out.data());
  cudaGraph_t graph = nullptr;
  ASSERT_EQ(cudaStreamEndCapture(stream, &graph), cudaSuccess);
  cudaGraphExec_t exec = nullptr;
  ASSERT_EQ(cudaGraphInstantiate(&exec, graph, 0), cudaSuccess);
  ASSERT_EQ(cudaGraphLaunch(exec, stream), cudaSuccess);
  ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  EXPECT_EQ(out.to_host(), std::vector<unsigned>(8, 6));
  EXPECT_EQ(cudaGraphExecDestroy(exec), cudaSuccess);
  EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
  EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
}

#ifdef __CPU_DEVICE__
/// The report of a launch that must fail with `error`.
template <class Launch>
std::string report_of(Launch launch, cudaError_t error = cudaErrorLaunchFailure) {
  const std::size_t before = cpu_device::report_count();
  launch();
  EXPECT_EQ(cudaDeviceSynchronize(), error);
  EXPECT_EQ(cpu_device::report_count(), before + 1);
  EXPECT_EQ(cudaDeviceReset(), cudaSuccess);
  return cpu_device::last_report();
}
void expect_parts(const std::string& text, std::initializer_list<const char*> parts) {
  for (const char* part : parts) EXPECT_NE(text.find(part), std::string::npos) << text;
}

__global__ void __cluster_dims__(4) some_blocks_only(unsigned from) {
  if (cg::this_cluster().block_rank() >= from) cg::this_cluster().sync();
}

TEST(ClusterReports, BlocksThatNeverReachTheBarrier) {
  in_every_order([] {
    expect_parts(report_of([] { some_blocks_only<<<4, 33>>>(3); }),
                 {"cluster barrier that some blocks never reach, in kernel some_blocks_only "
                  "(launched at clusters_test.cu:",
                  "1 block (3) waits in this_cluster().sync() at clusters_test.cu:",
                  "3 blocks (0-2) have left the kernel"});
  });
}

__global__ void __cluster_dims__(2) some_threads_only() {
  if (threadIdx.x < 5) cg::this_cluster().sync();
}

TEST(ClusterReports, ThreadsThatNeverReachTheBarrier) {
  in_every_order([] {
    expect_parts(report_of([] { some_threads_only<<<8, 32>>>(); }),
                 {"barrier divergence in kernel some_threads_only",
                  "5 threads (0-4) wait in cluster_group::sync() at clusters_test.cu:",
                  "27 threads (5-31) have left the kernel"});
  });
}

__global__ void __cluster_dims__(2) two_barriers() {
  if (threadIdx.x % 2 == 0)
    cg::this_cluster().sync();
  else
    cg::this_cluster().sync();
}

TEST(ClusterReports, ThreadsThatReachDifferentBarriers) {
  expect_parts(report_of([] { two_barriers<<<2, 32>>>(); }),
               {"cluster_group::sync() at clusters_test.cu:", "meets another barrier"});
}

__global__ void __cluster_dims__(2) half_of_a_barrier(bool arrives) {
  if (arrives) {
    cg::this_cluster().barrier_arrive();
    cg::this_cluster().barrier_arrive();
  } else {
    cg::this_cluster().barrier_wait();
  }
}

TEST(ClusterReports, HalvesOfABarrierThatDoNotMatch) {
  expect_parts(report_of([] { half_of_a_barrier<<<2, 1>>>(true); }), {"second arrival"});
  expect_parts(report_of([] { half_of_a_barrier<<<2, 1>>>(false); }), {"has not arrived"});
}

__global__ void __cluster_dims__(2) one_block_fails(int* nowhere) {
  if (blockIdx.x == 1) *nowhere = 1;
  cg::this_cluster().sync();
}

TEST(ClusterReports, ABlockThatFailsEndsTheOthersWait) {
  in_every_order([] {
    expect_parts(report_of([] { one_block_fails<<<32, 8>>>(nullptr); }, cudaErrorIllegalAddress),
                 {"null pointer"});
  });
}

__global__ void __cluster_dims__(2) use_after_leaving(int* flag, int* out) {
  __shared__ int box;
  const cg::cluster_group cluster = cg::this_cluster();
  box = 1;
  cluster.sync();
  if (cluster.block_rank() == 1) return;
  for (int i = 0; i < 3000; ++i) __nanosleep(1000);  // the other one leaves meanwhile
  *out = *cluster.map_shared_rank(&box, 1) + *flag;
}

TEST(ClusterReports, SharedMemoryOfABlockThatHasLeft) {
  in_every_order([] {
    const device_array<int> flag(1, 0), out(1, 0);
    expect_parts(report_of([&] { use_after_leaving<<<2, 1>>>(flag.data(), out.data()); }),
                 {"map_shared_rank() at clusters_test.cu:", "the rank 1, but that block has left"});
  });
}

__global__ void map_wrongly(int* out, int rank, bool global) {
  __shared__ int box;
  box = 1;
  out[0] = *cg::this_cluster().map_shared_rank(global ? out : &box, rank);
}

TEST(ClusterReports, WhatCannotBeMapped) {
  const device_array<int> out(1, 0);
  map_wrongly<<<2, 1>>>(out.data(), 0, false);
  EXPECT_EQ(out.to_host()[0], 1);
  expect_parts(report_of([&] { map_wrongly<<<2, 1>>>(out.data(), 1, false); }),
               {"the rank 1, but ranks count from 0"});
  const device_array<int> more(1, 0);
  expect_parts(report_of([&] { map_wrongly<<<2, 1>>>(more.data(), 0, true); }),
               {"own shared memory"});
}

__global__ void __cluster_dims__(2) past_the_end(int* out) {
  extern __shared__ int mine[];
  const cg::cluster_group cluster = cg::this_cluster();
  cluster.sync();
  *out = cluster.map_shared_rank(mine, 1)[4];
  cluster.sync();
}

TEST(ClusterReports, AnElementPastTheEndOfAnotherBlocksMemory) {
  const device_array<int> out(1, 0);
  expect_parts(report_of([&] { past_the_end<<<2, 1, 16>>>(out.data()); }, cudaErrorIllegalAddress),
               {"outside the dynamic shared memory", "just past the end of it"});
}

template <class T>
__global__ void __cluster_dims__(2) deduced(T* out) {
  *out = static_cast<T>(cg::this_cluster().num_blocks());
}

TEST(ClusterReports, ALaunchThatDoesNotKnowTheKernelsClusters) {
  const device_array<int> out(1, 0);
  deduced<int><<<2, 1>>>(out.data());
  EXPECT_EQ(out.to_host()[0], 2);
  expect_parts(report_of([&] { deduced<<<2, 1>>>(out.data()); }, cudaErrorInvalidClusterSize),
               {"__cluster_dims__", "all of the template's arguments"});
}
#endif

}  // namespace
