// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Which threads run, how those of a block and of a warp wait for each other and exchange values.
// Runs on the CPU device and on a GPU.

#include <algorithm>
#include <functional>
#include <numeric>

#include "conformance.hpp"

namespace {

using namespace conformance;

constexpr unsigned kAll = 0xffffffffU;

// --- which threads run --------------------------------------------------------------------------

__global__ void count_visits(int* visits, int* wrong) {
  const unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
  const unsigned thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  atomicAdd(&visits[block * (blockDim.x * blockDim.y * blockDim.z) + thread], 1);
  if (threadIdx.x >= blockDim.x || threadIdx.y >= blockDim.y || threadIdx.z >= blockDim.z ||
      blockIdx.x >= gridDim.x || blockIdx.y >= gridDim.y || blockIdx.z >= gridDim.z ||
      warpSize != 32)
    atomicAdd(wrong, 1);
}

TEST(Threads, OfEveryShapeRunOnce) {
  const std::pair<dim3, dim3> shapes[] = {{1, 1},
                                          {7, 1},
                                          {1, 1024},
                                          {3, 33},
                                          {70001, 1},
                                          {dim3(3, 5), dim3(7, 2)},
                                          {dim3(2, 3, 4), dim3(5, 3, 2)},
                                          {dim3(1, 1, 5), dim3(1, 1, 64)}};
  in_every_order([&] {
    for (const auto& [grid, block] : shapes) {
      const std::size_t threads =
          std::size_t{grid.x} * grid.y * grid.z * block.x * block.y * block.z;
      const device_array<int> visits(threads, 0), wrong(1, 0);
      count_visits<<<grid, block>>>(visits.data(), wrong.data());
      ASSERT_EQ(cudaGetLastError(), cudaSuccess);
      EXPECT_EQ(visits.to_host(), std::vector<int>(threads, 1));
      EXPECT_EQ(wrong.to_host()[0], 0);
    }
  });
}

__global__ void count_with_a_lock(int* lock, int* counter) {
  while (atomicCAS(lock, 0, 1) != 0) {
  }
  __threadfence();
  const int before = *counter;
  __nanosleep(20);  // others run while the lock is taken
  *counter = before + 1;
  __threadfence();
  atomicExch(lock, 0);
}

// Each thread makes progress, also beside others of its warp that spin.
TEST(Threads, ThatSpinLetTheOwnerOfALockFinish) {
  in_every_order([] {
    const device_array<int> lock(1, 0), counter(1, 0);
    count_with_a_lock<<<8, 64>>>(lock.data(), counter.data());
    EXPECT_EQ(counter.to_host()[0], 512);
  });
}

// --- blocks -------------------------------------------------------------------------------------

__global__ void rotate(int* data, int rounds) {
  extern __shared__ int rotated[];
  const unsigned n = blockDim.x, me = threadIdx.x;
  rotated[me] = data[blockIdx.x * n + me];
  __syncthreads();
  for (int i = 0; i < rounds; ++i) {
    const int right = rotated[(me + 1) % n];
    __syncthreads();
    rotated[me] = right;
    __syncthreads();
  }
  data[blockIdx.x * n + me] = rotated[me];
}

TEST(Blocks, ABarrierSeparatesReadsFromWrites) {
  in_every_order([] {
    for (const int threads : {1, 2, 31, 32, 33, 255, 256, 1024}) {
      constexpr int kBlocks = 5, kRounds = 3;
      std::vector<int> host(static_cast<std::size_t>(threads) * kBlocks);
      std::iota(host.begin(), host.end(), 0);
      const device_array<int> data(host);
      rotate<<<kBlocks, threads, static_cast<std::size_t>(threads) * sizeof(int)>>>(data.data(),
                                                                                    kRounds);
      for (int b = 0; b < kBlocks; ++b)
        std::rotate(host.begin() + b * threads, host.begin() + b * threads + kRounds % threads,
                    host.begin() + (b + 1) * threads);
      EXPECT_EQ(data.to_host(), host) << threads << " threads";
    }
  });
}

// Static and dynamic shared memory side by side; the dynamic part is cut into two arrays.
__global__ void reverse_both(int* ints, double* doubles) {
  __shared__ int size;
  extern __shared__ double part_of_doubles[];
  int* part_of_ints = reinterpret_cast<int*>(part_of_doubles + blockDim.x);
  const unsigned me = threadIdx.x, at = blockIdx.x * blockDim.x + me;
  if (me == 0) size = static_cast<int>(blockDim.x);
  part_of_ints[me] = ints[at];
  part_of_doubles[me] = doubles[at];
  __syncthreads();
  ints[at] = part_of_ints[static_cast<unsigned>(size) - 1 - me];
  doubles[at] = part_of_doubles[static_cast<unsigned>(size) - 1 - me];
}

TEST(Blocks, DynamicSharedMemoryStandsBesideTheStaticOne) {
  in_every_order([] {
    constexpr std::size_t kBlocks = 3, kThreads = 77;
    std::vector<int> ints(kBlocks * kThreads);
    std::iota(ints.begin(), ints.end(), -100);
    std::vector<double> doubles(ints.begin(), ints.end());
    const device_array<int> i(ints);
    const device_array<double> d(doubles);
    reverse_both<<<kBlocks, kThreads, kThreads*(sizeof(double) + sizeof(int))>>>(i.data(),
                                                                                 d.data());
    EXPECT_EQ(cudaGetLastError(), cudaSuccess);
    for (auto block = ints.begin(); block != ints.end(); block += kThreads)
      std::reverse(block, block + kThreads);
    EXPECT_EQ(i.to_host(), ints);
    EXPECT_EQ(d.to_host(), std::vector<double>(ints.begin(), ints.end()));
  });
}

__global__ void votes(int* out) {
  const int me = static_cast<int>(threadIdx.x);
  out[me * 5 + 0] = __syncthreads_count(me < 10);
  out[me * 5 + 1] = __syncthreads_and(me < 100);
  out[me * 5 + 2] = __syncthreads_or(me == 99);
  out[me * 5 + 3] = __syncthreads_and(me != 50);
  out[me * 5 + 4] = __syncthreads_or(me > 100);
}

TEST(Blocks, BarriersVote) {
  in_every_order([] {
    const device_array<int> out(500, -1);
    votes<<<1, 100>>>(out.data());
    const std::vector<int> host = out.to_host();
    for (std::size_t i = 0; i < 500; i += 5) {
      EXPECT_EQ(host[i], 10);
      EXPECT_NE(host[i + 1], 0);
      EXPECT_NE(host[i + 2], 0);
      EXPECT_EQ(host[i + 3], 0);
      EXPECT_EQ(host[i + 4], 0);
    }
  });
}

// --- warps --------------------------------------------------------------------------------------

__global__ void first_of_warp(int* out) {
  const unsigned me = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  out[me] = __shfl_sync(kAll, static_cast<int>(me), 0);
}

TEST(Warps, AreThirtyTwoThreadsInARowOfABlock) {
  in_every_order([] {
    const device_array<int> out(128, -1);
    first_of_warp<<<1, dim3(8, 2, 8)>>>(out.data());
    const std::vector<int> host = out.to_host();
    for (int i = 0; i < 128; ++i) EXPECT_EQ(host[static_cast<std::size_t>(i)], i / 32 * 32);
  });
}

// --- warps: shuffles ----------------------------------------------------------------------------

__global__ void warp_sums(const int* in, int* out) {
  int value = in[blockIdx.x * blockDim.x + threadIdx.x];
  for (unsigned offset = 16; offset > 0; offset /= 2)
    value += __shfl_down_sync(kAll, value, offset);
  if (threadIdx.x % 32 == 0) out[(blockIdx.x * blockDim.x + threadIdx.x) / 32] = value;
}

TEST(Warps, ShufflesReduce) {
  in_every_order([] {
    constexpr std::size_t kThreads = 256, kBlocks = 3;
    std::vector<int> host(kThreads * kBlocks);
    for (std::size_t i = 0; i < host.size(); ++i) host[i] = static_cast<int>(i * i % 97) - 40;
    const device_array<int> in(host), out(host.size() / 32, 0);
    warp_sums<<<kBlocks, kThreads>>>(in.data(), out.data());
    const std::vector<int> sums = out.to_host();
    for (std::size_t w = 0; w < sums.size(); ++w)
      EXPECT_EQ(sums[w],
                std::accumulate(host.begin() + static_cast<std::ptrdiff_t>(32 * w),
                                host.begin() + static_cast<std::ptrdiff_t>(32 * w + 32), 0));
  });
}

__global__ void every_shuffle(int n, int width, int* out) {
  const int lane = static_cast<int>(threadIdx.x);
  out[lane * 4 + 0] = __shfl_sync(kAll, 100 + lane, n, width);
  out[lane * 4 + 1] = __shfl_up_sync(kAll, 100 + lane, static_cast<unsigned>(n), width);
  out[lane * 4 + 2] = __shfl_down_sync(kAll, 100 + lane, static_cast<unsigned>(n), width);
  out[lane * 4 + 3] = __shfl_xor_sync(kAll, 100 + lane, n, width);
}

TEST(Warps, ShufflesStayInSegmentsOfTheirWidth) {
  for (const int width : {1, 2, 4, 8, 16, 32}) {
    for (int n = 0; n < 32; ++n) {
      const device_array<int> out(128, -1);
      every_shuffle<<<1, 32>>>(n, width, out.data());
      const std::vector<int> o = out.to_host();
      for (int lane = 0; lane < 32; ++lane) {
        SCOPED_TRACE("width " + std::to_string(width) + ", n " + std::to_string(n) + ", lane " +
                     std::to_string(lane));
        const int first = lane / width * width, last = first + width - 1;
        const auto at = static_cast<std::size_t>(lane) * 4;
        EXPECT_EQ(o[at], 100 + first + n % width);  // the source is taken modulo the width
        EXPECT_EQ(o[at + 1], 100 + (lane - n >= first ? lane - n : lane));
        EXPECT_EQ(o[at + 2], 100 + (lane + n <= last ? lane + n : lane));
        // Earlier segments can be read, later ones give the lane's own value.
        EXPECT_EQ(o[at + 3], 100 + ((lane ^ n) <= last ? lane ^ n : lane));
      }
    }
  }
}

template <class T>
__global__ void turn_round(const T* in, T* out) {
  const int lane = static_cast<int>(threadIdx.x);
  out[lane] = __shfl_sync(kAll, in[lane], 31 - lane);
  out[lane] = __shfl_xor_sync(kAll, out[lane], 31);
  out[lane] = __shfl_sync(kAll, out[lane], 31 - lane);
}
template <class T>
void expect_turned(T step) {
  std::vector<T> host;
  for (int i = 0; i < 32; ++i) host.push_back(static_cast<T>(static_cast<T>(i - 16) * step));
  const device_array<T> in(host), out(32, T{});
  turn_round<<<1, 32>>>(in.data(), out.data());
  std::reverse(host.begin(), host.end());
  EXPECT_EQ(out.to_host(), host);
}

TEST(Warps, ShufflesCarryEveryType) {
  expect_turned<int>(1 << 26);
  expect_turned<unsigned>(1U << 26);
  expect_turned<long>(1L << 57);
  expect_turned<unsigned long>(1UL << 57);
  expect_turned<long long>(-(1LL << 57));
  expect_turned<unsigned long long>(1ULL << 57);
  expect_turned<float>(0.1F);
  expect_turned<double>(0.1);
}

__global__ void partial_warp(int* out) {
  out[threadIdx.x] = __shfl_down_sync(kAll, static_cast<int>(threadIdx.x), 1);
}

TEST(Warps, LanesThatABlockNeverHadAreNotWaitedFor) {
  in_every_order([] {
    const device_array<int> out(40, -1);
    partial_warp<<<1, 40>>>(out.data());
    const std::vector<int> host = out.to_host();
    for (int i = 0; i < 39; ++i) EXPECT_EQ(host[static_cast<std::size_t>(i)], i == 31 ? 31 : i + 1);
  });
}

// --- warps: votes, matches, reductions ----------------------------------------------------------

__global__ void warp_votes(unsigned* out) {
  const int lane = static_cast<int>(threadIdx.x);
  unsigned* mine = out + lane * 8;
  mine[0] = __ballot_sync(kAll, lane % 3 == 0);
  mine[1] = lane < 16 ? __ballot_sync(0x0000ffffU, lane % 2) : __ballot_sync(0xffff0000U, lane % 2);
  mine[2] = __all_sync(kAll, lane < 32) != 0;
  mine[3] = __all_sync(kAll, lane != 7) != 0;
  mine[4] = __any_sync(kAll, lane == 7) != 0;
  mine[5] = __any_sync(kAll, lane == 32) != 0;
  // Lanes outside of a mask do not count.
  mine[6] = lane < 8 ? __all_sync(0xffU, lane < 8) != 0 : __any_sync(0xffffff00U, lane < 8) != 0;
  mine[7] = lane % 4 == 1 ? __activemask() : 0;
}

TEST(Warps, Vote) {
  in_every_order([] {
    const device_array<unsigned> out(256, 77);
    warp_votes<<<1, 32>>>(out.data());
    const std::vector<unsigned> o = out.to_host();
    unsigned thirds = 0, ones = 0;
    for (unsigned l = 0; l < 32; ++l) {
      thirds |= (l % 3 == 0 ? 1U : 0U) << l;
      ones |= (l % 4 == 1 ? 1U : 0U) << l;
    }
    for (unsigned lane = 0; lane < 32; ++lane) {
      const unsigned* mine = o.data() + 8 * lane;
      EXPECT_EQ(mine[0], thirds);
      EXPECT_EQ(mine[1], lane < 16 ? 0x0000aaaaU : 0xaaaa0000U);
      EXPECT_EQ(mine[2], 1U);
      EXPECT_EQ(mine[3], 0U);
      EXPECT_EQ(mine[4], 1U);
      EXPECT_EQ(mine[5], 0U);
      EXPECT_EQ(mine[6], lane < 8 ? 1U : 0U);
      // Which lanes are together is not guaranteed: but never one that took the other branch.
      EXPECT_EQ(mine[7] & ~ones, 0U);
      EXPECT_EQ(mine[7] >> lane & 1U, lane % 4 == 1 ? 1U : 0U);
    }
  });
}

template <class T>
__global__ void matches(const T* values, unsigned* out) {
  const int lane = static_cast<int>(threadIdx.x);
  const T value = values[lane / 8];  // 0, 1, 0 and 2 for the four eighths of the warp
  int same = 77;
  out[lane * 5 + 0] = __match_any_sync(kAll, value);
  out[lane * 5 + 1] = __match_all_sync(kAll, value, &same);
  out[lane * 5 + 2] = same != 0;
  const unsigned half = lane < 16 ? 0x0000ffffU : 0xffff0000U;
  const T constant = values[lane < 16 ? 1 : 3];
  out[lane * 5 + 3] = lane < 16 ? __match_all_sync(0x0000ffffU, constant, &same)
                                : __match_all_sync(0xffff0000U, constant, &same);
  out[lane * 5 + 4] = same != 0 && out[lane * 5 + 3] == half;
}
template <class T>
void expect_matches(T a, T b, T c) {
  const device_array<T> values(std::vector<T>{a, b, a, c});
  const device_array<unsigned> out(160, 77);
  matches<<<1, 32>>>(values.data(), out.data());
  const std::vector<unsigned> o = out.to_host();
  for (unsigned lane = 0; lane < 32; ++lane) {
    const unsigned* mine = o.data() + 5 * lane;
    EXPECT_EQ(mine[0], lane / 8 % 2 == 0 ? 0x00ff00ffU : 0xffU << (lane / 8 * 8));
    EXPECT_EQ(mine[1], 0U);
    EXPECT_EQ(mine[2], 0U);
    EXPECT_EQ(mine[4], 1U);
  }
}

TEST(Warps, MatchValues) {
  in_every_order([] {
    expect_matches<int>(0, -1, 1 << 30);
    expect_matches<unsigned>(5, 6, 7);
    expect_matches<long long>(0, 1LL << 40, -1);  // the low halves of the first two are alike
    expect_matches<unsigned long long>(1, (1ULL << 63) + 1, 2);
    expect_matches<float>(0.5F, -0.5F, 1e30F);
    expect_matches<double>(0.1, 0.1F, -3);
  });
}

__global__ void warp_reductions(const int* in, int* ints, unsigned* unsigneds) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
  const int lane = static_cast<int>(threadIdx.x), value = in[lane];
  const auto bits = static_cast<unsigned>(value);
  const unsigned mask = lane < 11 ? 0x7ffU : ~0x7ffU;
  int* i = ints + lane * 3;
  unsigned* u = unsigneds + lane * 6;
  if (lane < 11) {
    i[0] = __reduce_add_sync(mask, value), i[1] = __reduce_min_sync(mask, value);
    i[2] = __reduce_max_sync(mask, value);
  } else {
    i[0] = __reduce_add_sync(mask, value), i[1] = __reduce_min_sync(mask, value);
    i[2] = __reduce_max_sync(mask, value);
  }
  u[0] = __reduce_add_sync(kAll, bits), u[1] = __reduce_min_sync(kAll, bits);
  u[2] = __reduce_max_sync(kAll, bits), u[3] = __reduce_and_sync(kAll, bits | 1U << 31);
  u[4] = __reduce_or_sync(kAll, bits), u[5] = __reduce_xor_sync(kAll, bits);
#else
  (void)in, (void)ints, (void)unsigneds;
#endif
}

TEST(Warps, ReduceIntegers) {
  cudaDeviceProp device;
  ASSERT_EQ(cudaGetDeviceProperties(&device, 0), cudaSuccess);
  if (device.major < 8) GTEST_SKIP() << "__reduce_*_sync needs compute capability 8.0";
  in_every_order([] {
    std::mt19937 random(3);
    std::vector<int> host(32);
    for (int& x : host) x = static_cast<int>(random());
    const device_array<int> in(host), ints(96, 0);
    const device_array<unsigned> unsigneds(192, 0);
    warp_reductions<<<1, 32>>>(in.data(), ints.data(), unsigneds.data());
    const std::vector<int> i = ints.to_host();
    const std::vector<unsigned> u = unsigneds.to_host();
    const std::vector<unsigned> all(host.begin(), host.end());
    for (int lane = 0; lane < 32; ++lane) {
      const auto from = host.begin() + (lane < 11 ? 0 : 11),
                 to = lane < 11 ? from + 11 : host.end();
      const auto at = static_cast<std::size_t>(lane);
      EXPECT_EQ(static_cast<unsigned>(i[3 * at]),
                std::accumulate(from, to, 0U,
                                [](unsigned a, int b) { return a + static_cast<unsigned>(b); }));
      EXPECT_EQ(i[3 * at + 1], *std::min_element(from, to));
      EXPECT_EQ(i[3 * at + 2], *std::max_element(from, to));
      EXPECT_EQ(u[6 * at], std::accumulate(all.begin(), all.end(), 0U));
      EXPECT_EQ(u[6 * at + 1], *std::min_element(all.begin(), all.end()));
      EXPECT_EQ(u[6 * at + 2], *std::max_element(all.begin(), all.end()));
      EXPECT_EQ(u[6 * at + 3],
                1U << 31 | std::accumulate(all.begin(), all.end(), kAll, std::bit_and<unsigned>()));
      EXPECT_EQ(u[6 * at + 4],
                std::accumulate(all.begin(), all.end(), 0U, std::bit_or<unsigned>()));
      EXPECT_EQ(u[6 * at + 5],
                std::accumulate(all.begin(), all.end(), 0U, std::bit_xor<unsigned>()));
    }
  });
}

__global__ void warp_steps(int* out) {
  __shared__ int values[64];
  const unsigned me = threadIdx.x, first = me / 32 * 32;
  values[me] = static_cast<int>(me);
  __syncwarp();
  for (unsigned step = 1; step < 32; step *= 2) {  // sums of all values up to the lane's own
    const int before = me - first >= step ? values[me - step] : 0;
    __syncwarp();
    values[me] += before;
    __syncwarp();
  }
  out[me] = values[me];
}

TEST(Warps, ABarrierOrdersTheAccessesOfItsLanes) {
  in_every_order([] {
    const device_array<int> out(64, -1);
    warp_steps<<<1, 64>>>(out.data());
    std::vector<int> expected(64);
    std::iota(expected.begin(), expected.end(), 0);
    std::partial_sum(expected.begin(), expected.begin() + 32, expected.begin());
    std::partial_sum(expected.begin() + 32, expected.end(), expected.begin() + 32);
    EXPECT_EQ(out.to_host(), expected);
  });
}

}  // namespace
