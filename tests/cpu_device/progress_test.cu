// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Resident blocks all make progress, and so do all threads of a block: they may wait for each
// other, in whatever order, by reading memory.

#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "conformance.hpp"
#include "device_array.hpp"

namespace {

using device_memory::device_array;

class Progress : public ::testing::Test {
#ifdef __CPU_DEVICE__
 protected:
  void SetUp() override { cpu_device::report_again(); }
  void TearDown() override {
    const std::string said =
        cpu_device::report_count() == reports_ ? "" : cpu_device::last_report();
    EXPECT_EQ(said.find("(volatile)") != std::string::npos, waits_without_fences_) << said;
    EXPECT_EQ(!said.empty(), waits_without_fences_) << said;
  }
  /// The kernel's flag is set without a fence, or read by lanes of the writer's warp: the check
  /// build reports that.
  void waits_without_fences() {
#ifdef CPU_DEVICE_CHECK
    waits_without_fences_ = true;
#endif
  }

 private:
  std::size_t reports_ = cpu_device::report_count();
  bool waits_without_fences_ = false;
#else
 protected:
  void waits_without_fences() {}
#endif
};

template <class Kernel>
int resident_blocks(Kernel kernel, int threads) {
  int each = 0, processors = 0;
  EXPECT_EQ(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, kernel, threads, 0), cudaSuccess);
  EXPECT_EQ(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, 0), cudaSuccess);
  return each * processors;
}

// --- blocks -------------------------------------------------------------------------------------

__global__ void wait_for_the_next_block(volatile int* flags) {
  const unsigned next = blockIdx.x + 1;
  if (next < gridDim.x)
    while (flags[next] == 0) {
    }
  __threadfence();
  flags[blockIdx.x] = 1;
}

TEST_F(Progress, ABlockMayWaitForALaterOne) {
  const int blocks = std::min(resident_blocks(wait_for_the_next_block, 1), 40);
  const device_array<int> flags(blocks, 0);
  wait_for_the_next_block<<<blocks, 1>>>(flags.data());
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_EQ(flags.to_host(), std::vector<int>(blocks, 1));
}

__global__ void wait_for_the_partner(volatile int* flags) {
  if (blockIdx.x % 2 == 0) {
    while (flags[blockIdx.x + 1] == 0) {
    }
  }
  flags[blockIdx.x] = 1;
}

TEST_F(Progress, TheBlocksThatOthersWaitForComeOutOfALongQueue) {
  waits_without_fences();
  // More blocks than are resident: workers have taken them in pieces.
  constexpr int kBlocks = 1000;
  const device_array<int> flags(kBlocks, 0);
  wait_for_the_partner<<<kBlocks, 1>>>(flags.data());
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_EQ(flags.to_host(), std::vector<int>(kBlocks, 1));
}

/// Adds up by adjacent synchronisation: each block waits for the sum of the one before.
__global__ void chained_sum(const int* in, volatile int* sums, volatile int* flags) {
  __shared__ int mine;
  if (threadIdx.x == 0) mine = 0;
  __syncthreads();
  atomicAdd(&mine, in[blockIdx.x * blockDim.x + threadIdx.x]);
  __syncthreads();
  if (threadIdx.x == 0) {
    int before = 0;
    if (blockIdx.x > 0) {
      while (flags[blockIdx.x - 1] == 0) {
      }
      __threadfence();
      before = sums[blockIdx.x - 1];
    }
    sums[blockIdx.x] = before + mine;
    __threadfence();
    flags[blockIdx.x] = 1;
  }
}

void chained_sums_are_right() {
  const int blocks = std::min(resident_blocks(chained_sum, 64), 50);
  std::vector<int> values(blocks * 64), expected(blocks);
  std::iota(values.begin(), values.end(), -700);
  int sum = 0;
  for (int b = 0; b < blocks; ++b)
    expected[b] = sum =
        std::accumulate(values.begin() + b * 64, values.begin() + (b + 1) * 64, sum);
  const device_array<int> in(values), sums(blocks, 0), flags(blocks, 0);
  chained_sum<<<blocks, 64>>>(in.data(), sums.data(), flags.data());
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_EQ(sums.to_host(), expected);
}

TEST_F(Progress, AdjacentBlocksSynchronise) { chained_sums_are_right(); }

#ifdef __CPU_DEVICE__
TEST_F(Progress, AdjacentBlocksSynchroniseWhenTheLastOneStartsFirst) {
  for (const auto order : {cpu_device::thread_order::reverse, cpu_device::thread_order::random}) {
    cpu_device::set_thread_order(order, 7);
    chained_sums_are_right();
  }
  cpu_device::set_thread_order(cpu_device::thread_order::forward);
}
#endif

__device__ void software_grid_barrier(int* arrived, int round) {
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();
    atomicAdd(arrived, 1);
    const volatile int* seen = arrived;
    while (*seen < round * static_cast<int>(gridDim.x)) {
    }
    __threadfence();
  }
  __syncthreads();
}

__global__ void persistent(int* arrived, volatile int* cells, int rounds) {
  const unsigned n = gridDim.x * blockDim.x, i = blockIdx.x * blockDim.x + threadIdx.x;
  for (int round = 0; round < rounds; ++round) {
    const int left = cells[(i + n - 1) % n];
    software_grid_barrier(arrived, 2 * round + 1);
    cells[i] = left + 1;
    software_grid_barrier(arrived, 2 * round + 2);
  }
}

TEST_F(Progress, PersistentBlocksMeetAtABarrierOfTheirOwn) {
  const int blocks = std::min(resident_blocks(persistent, 64), 24), n = blocks * 64;
  constexpr int kRounds = 5;
  std::vector<int> values(n), expected(n);
  for (int i = 0; i < n; ++i) values[i] = i * 3;
  for (int i = 0; i < n; ++i) expected[i] = values[(i + n - kRounds) % n] + kRounds;
  const device_array<int> arrived(1, 0), cells(values);
  persistent<<<blocks, 64>>>(arrived.data(), cells.data(), kRounds);
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_EQ(cells.to_host(), expected);
}

/// All threads of a block poll again and again, with a barrier in each turn.
__global__ void ask_together(volatile int* flags) {
  __shared__ int seen;
  if (blockIdx.x + 1 < gridDim.x) {
    do {
      __syncthreads();
      if (threadIdx.x == 0) seen = flags[blockIdx.x + 1];
      __syncthreads();
    } while (seen == 0);
  }
  if (threadIdx.x == 0) flags[blockIdx.x] = 1;
}

TEST_F(Progress, ABlockMayAskBetweenBarriers) {
  waits_without_fences();
  const int blocks = std::min(resident_blocks(ask_together, 96), 10);
  const device_array<int> flags(blocks, 0);
  ask_together<<<blocks, 96>>>(flags.data());
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_EQ(flags.to_host(), std::vector<int>(blocks, 1));
}

struct tile_state {
  int status;  // 0: nothing yet, 1: the tile's own sum, 2: all sums up to here
  int sum, prefix;
};

/// A scan with decoupled look-back; blocks take their tiles in the order in which they arrive.
__global__ void look_back_scan(const int* in, int* out, volatile tile_state* tiles, int* ticket) {
  __shared__ int tile, before, part[128];
  if (threadIdx.x == 0) tile = atomicAdd(ticket, 1);
  __syncthreads();
  const int i = tile * 128 + static_cast<int>(threadIdx.x);
  part[threadIdx.x] = in[i];
  __syncthreads();
  for (unsigned step = 1; step < 128; step *= 2) {
    const int other = threadIdx.x >= step ? part[threadIdx.x - step] : 0;
    __syncthreads();
    part[threadIdx.x] += other;
    __syncthreads();
  }
  if (threadIdx.x == 0) {
    tiles[tile].sum = part[127];
    __threadfence();
    tiles[tile].status = 1;
    int sum = 0;
    for (int look = tile - 1; look >= 0; --look) {
      int status = 0;
      while ((status = tiles[look].status) == 0) {
      }
      __threadfence();
      if (status == 2) {
        sum += tiles[look].prefix;
        break;
      }
      sum += tiles[look].sum;
    }
    tiles[tile].prefix = sum + part[127];
    __threadfence();
    tiles[tile].status = 2;
    before = sum;
  }
  __syncthreads();
  out[i] = before + part[threadIdx.x];
}

TEST_F(Progress, AScanLooksBack) {
  constexpr int kTiles = 300;
  std::vector<int> values(kTiles * 128), expected(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<int>(i * 37 % 101) - 50;
  std::partial_sum(values.begin(), values.end(), expected.begin());
  const device_array<int> in(values), out(values.size(), 0), ticket(1, 0);
  const device_array<tile_state> tiles(kTiles, {0, 0, 0});
  look_back_scan<<<kTiles, 128>>>(in.data(), out.data(), tiles.data(), ticket.data());
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_EQ(out.to_host(), expected);
}

// --- threads of a block -------------------------------------------------------------------------

__global__ void all_wait_for_one(volatile int* flag, int* out, unsigned one) {
  if (threadIdx.x == one) {
    *flag = 1;
  } else {
    while (*flag == 0) {
    }
  }
  out[threadIdx.x] += 1;
}

void everybody_goes_on(int threads, int one) {
  const device_array<int> flag(1, 0), out(threads, 0);
  all_wait_for_one<<<1, threads>>>(flag.data(), out.data(), one);
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_EQ(out.to_host(), std::vector<int>(threads, 1)) << threads << " threads wait for " << one;
}

TEST_F(Progress, LanesWaitForALaneOfTheirWarp) {
  waits_without_fences();
  everybody_goes_on(32, 31);
  everybody_goes_on(32, 13);
  everybody_goes_on(2, 1);
  everybody_goes_on(31, 0);
}

TEST_F(Progress, ThreadsWaitForALaterThreadOfTheirBlock) {
  waits_without_fences();
  everybody_goes_on(256, 255);
  everybody_goes_on(1000, 700);
}

__global__ void rows_wait(volatile int* flag, int* out) {
  const unsigned i = threadIdx.y * blockDim.x + threadIdx.x;
  if (i + 1 == blockDim.x * blockDim.y) *flag = 1;
  while (*flag == 0) {
  }
  out[i] += static_cast<int>(threadIdx.y * 100 + threadIdx.x);  // its own index, afterwards
}

TEST_F(Progress, AThreadKeepsItsIndexWhileOthersRun) {
  waits_without_fences();
  const device_array<int> flag(1, 0), out(7 * 13, 0);
  rows_wait<<<1, dim3(7, 13)>>>(flag.data(), out.data());
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  std::vector<int> expected;
  for (int y = 0; y < 13; ++y)
    for (int x = 0; x < 7; ++x) expected.push_back(y * 100 + x);
  EXPECT_EQ(out.to_host(), expected);
}

/// Counts while it waits: never twice in the same state.
__global__ void count_meanwhile(volatile int* flag, unsigned* turns) {
  unsigned mine = 0;
  if (threadIdx.x + 1 == blockDim.x) *flag = 1;
  while (*flag == 0) ++mine;
  turns[threadIdx.x] = mine + 1;
}

TEST_F(Progress, AThreadThatCountsWhileItWaitsLosesItsTurn) {
  waits_without_fences();
  const device_array<int> flag(1, 0);
  const device_array<unsigned> turns(5, 0);
  count_meanwhile<<<1, 5>>>(flag.data(), turns.data());
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  for (const unsigned t : turns.to_host()) EXPECT_GT(t, 0U);
}

/// A lock taken by each lane in turn, polled by reading: the lanes of a warp in one loop.
__global__ void locked_sum(int* lock, volatile double* sum) {
  for (;;) {
    if (*static_cast<volatile int*>(lock) == 0 && atomicExch(lock, 1) == 0) break;
  }
  __threadfence();
  const double before = *sum;
  for (int i = 0; i < 100; ++i) *sum = before + threadIdx.x;
  __threadfence();
  atomicExch(lock, 0);
}

TEST_F(Progress, ANeighbourGivesItsLockBack) {
  const device_array<int> lock(1, 0);
  const device_array<double> sum(1, 0.0);
  locked_sum<<<4, 96>>>(lock.data(), sum.data());
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_EQ(sum.to_host(), std::vector<double>(1, 4 * 95 * 96 / 2));
}

__global__ void lock_across_lanes(volatile int* turn, int* order) {
  // Each lane waits for the one above it: none of them may block the others.
  const int lane = static_cast<int>(threadIdx.x), last = static_cast<int>(blockDim.x) - 1;
  while (*turn != last - lane) {
  }
  order[last - lane] = lane;
  __threadfence_block();
  *turn = last - lane + 1;
}

TEST_F(Progress, LanesTakeTurnsFromTheLastToTheFirst) {
  waits_without_fences();
  const device_array<int> turn(1, 0), order(64, -1);
  lock_across_lanes<<<1, 64>>>(turn.data(), order.data());
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  std::vector<int> expected(64);
  std::iota(expected.rbegin(), expected.rend(), 0);
  EXPECT_EQ(order.to_host(), expected);
}

__global__ void fresh_shared(volatile int* flag, int* wrong) {
  if (threadIdx.x != 0) {
    while (*flag == 0) {
    }
  }
  __shared__ int values[64];
  values[threadIdx.x] = static_cast<int>(threadIdx.x);
  if (threadIdx.x == 0) *flag = 1;
  __syncthreads();
  if (values[63 - threadIdx.x] != static_cast<int>(63 - threadIdx.x)) atomicAdd(wrong, 1);
}

TEST_F(Progress, BarriersMeetAfterSomeHaveSpun) {
  waits_without_fences();
  const device_array<int> flag(1, 0), wrong(1, 0);
  fresh_shared<<<1, 64>>>(flag.data(), wrong.data());
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_EQ(wrong.to_host()[0], 0);
}

}  // namespace
