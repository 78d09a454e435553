// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Cooperative groups: which threads are in which group, with what rank, and what the groups'
// functions return. Runs on the CPU device and on a GPU.

#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>

#include <algorithm>
#include <numeric>

#include "conformance.hpp"

namespace {

namespace cg = cooperative_groups;
using namespace conformance;

__device__ unsigned linear_thread() {
  return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
}

// Each thread writes a row of numbers; EXPECT compares a column with a formula of the thread.
template <int Columns>
std::vector<int> column(const std::vector<int>& rows, int which) {
  std::vector<int> c;
  for (std::size_t i = static_cast<std::size_t>(which); i < rows.size(); i += Columns)
    c.push_back(rows[i]);
  return c;
}
template <class Formula>
std::vector<int> for_threads(int count, Formula formula) {
  std::vector<int> v;
  for (int t = 0; t < count; ++t) v.push_back(static_cast<int>(formula(t)));
  return v;
}

// --- block and grid -----------------------------------------------------------------------------

__global__ void ranks(int* out) {
  const cg::thread_block block = cg::this_thread_block();
  const cg::grid_group grid = cg::this_grid();
  const unsigned threads = blockDim.x * blockDim.y * blockDim.z;
  int* const row = out + 8 * static_cast<int>(grid.thread_rank());
  row[0] = static_cast<int>(block.thread_rank() == linear_thread());
  row[1] = static_cast<int>(block.size() == threads && block.num_threads() == threads);
  row[2] =
      static_cast<int>(block.group_index().x == blockIdx.x && block.group_index().y == blockIdx.y &&
                       block.thread_index().z == threadIdx.z);
  row[3] =
      static_cast<int>(block.dim_threads().x == blockDim.x && block.group_dim().z == blockDim.z);
  row[4] = static_cast<int>(grid.block_rank());
  row[5] = static_cast<int>(grid.num_blocks());
  row[6] = static_cast<int>(grid.size());
  row[7] = static_cast<int>(grid.dim_blocks().y + 10 * grid.block_index().y);
}

TEST(Groups, BlockAndGridKnowTheirShapes) {
  in_every_order([] {
    const device_array<int> out(8 * 24 * 6, -1);
    ranks<<<dim3(3, 2), dim3(4, 3, 2)>>>(out.data());
    const auto rows = out.to_host();
    for (int c = 0; c < 4; ++c) EXPECT_EQ(column<8>(rows, c), std::vector<int>(144, 1)) << c;
    EXPECT_EQ(column<8>(rows, 4), for_threads(144, [](int t) { return t / 24; }));
    EXPECT_EQ(column<8>(rows, 5), std::vector<int>(144, 6));
    EXPECT_EQ(column<8>(rows, 6), std::vector<int>(144, 144));
    EXPECT_EQ(column<8>(rows, 7), for_threads(144, [](int t) { return 2 + 10 * (t / 72); }));
  });
}

__device__ void rotate_with(const cg::thread_group& group, int* shared) {  // any group will do
  const int n = static_cast<int>(group.size()), me = static_cast<int>(group.thread_rank());
  const int right = shared[(me + 1) % n];
  group.sync();
  shared[me] = right;
  group.sync();
}
__global__ void synchronise(int* data) {
  __shared__ int shared[128];
  const cg::thread_block block = cg::this_thread_block();
  const unsigned me = block.thread_rank();
  shared[me] = data[me];
  block.sync();
  const int left = shared[(me + 127) % 128];
  cg::sync(block);
  shared[me] = left;
  block.sync();
  rotate_with(block, shared);
  rotate_with(block, shared);
  const auto tile = cg::tiled_partition<8>(block);
  rotate_with(tile, shared + me / 8 * 8);
  rotate_with(cg::tiled_partition(block, 16), shared + me / 16 * 16);
  auto token = block.barrier_arrive();
  block.barrier_wait(std::move(token));
  data[me] = shared[127 - me];
}

TEST(Groups, Synchronise) {
  in_every_order([] {
    std::vector<int> host = for_threads(128, [](int t) { return t * t; });
    const device_array<int> data(host);
    synchronise<<<1, 128>>>(data.data());
    std::rotate(host.begin(), host.begin() + 1, host.end());
    for (auto i = host.begin(); i != host.end(); i += 8) std::rotate(i, i + 1, i + 8);
    for (auto i = host.begin(); i != host.end(); i += 16) std::rotate(i, i + 1, i + 16);
    std::reverse(host.begin(), host.end());
    EXPECT_EQ(data.to_host(), host);
  });
}

// --- tiles --------------------------------------------------------------------------------------

struct big {
  double a, b;
  int c;
};

__global__ void tile_functions(int* out) {
  const auto block = cg::this_thread_block();
  const auto tile = cg::tiled_partition<8>(block);
  const int me = static_cast<int>(block.thread_rank()), rank = static_cast<int>(tile.thread_rank());
  int* const row = out + 20 * me;
  row[0] = rank;
  row[1] = static_cast<int>(tile.size() + tile.num_threads());
  row[2] = static_cast<int>(tile.meta_group_rank());
  row[3] = static_cast<int>(tile.meta_group_size());
  row[4] = tile.shfl(me, 3);
  row[5] = tile.shfl_up(me, 2);
  row[6] = tile.shfl_down(me, 2);
  row[7] = tile.shfl_xor(me, 5);
  row[8] = tile.any(me == 13) != 0;
  row[9] = tile.all(me < 13) != 0;
  row[10] = static_cast<int>(tile.ballot(rank % 3 == 0));
  row[11] = static_cast<int>(tile.match_any(rank / 2));
  int equal = -1;
  row[12] = static_cast<int>(tile.match_all(me / 16, equal));
  row[13] = equal != 0;
  row[14] = static_cast<int>(tile.match_all(me / 12, equal));
  const auto part = cg::tiled_partition<2>(tile);
  row[15] = static_cast<int>(10 * part.meta_group_rank() + part.meta_group_size());
  row[16] = part.shfl(me, 1);
  const big all = tile.shfl(big{me + 0.5, me - 0.5, me}, 6);
  row[17] = all.a == all.c + 0.5 && all.b == all.c - 0.5 ? all.c : -1;
  const cg::thread_block_tile<8> plain = tile;
  row[18] = static_cast<int>(plain.meta_group_rank()) + plain.shfl(0, 0);
  row[19] = static_cast<int>(cg::this_thread().size() + cg::this_thread().thread_rank());
}

TEST(Groups, TilesExchangeValues) {
  in_every_order([] {
    constexpr int kThreads = 64;
    const device_array<int> out(20 * kThreads, -1);
    tile_functions<<<1, kThreads>>>(out.data());
    const auto rows = out.to_host();
    const auto expect = [&](int which, auto formula) {
      EXPECT_EQ(column<20>(rows, which), for_threads(kThreads, formula)) << "column " << which;
    };
    expect(0, [](int t) { return t % 8; });
    expect(1, [](int) { return 16; });
    expect(2, [](int t) { return t / 8; });
    expect(3, [](int) { return kThreads / 8; });
    expect(4, [](int t) { return t / 8 * 8 + 3; });
    expect(5, [](int t) { return t % 8 < 2 ? t : t - 2; });
    expect(6, [](int t) { return t % 8 > 5 ? t : t + 2; });
    expect(7, [](int t) { return t ^ 5; });
    expect(8, [](int t) { return t / 8 == 1; });
    expect(9, [](int t) { return t / 8 == 0; });
    expect(10, [](int) { return 0b01001001; });
    expect(11, [](int t) { return 3 << (t % 8 / 2 * 2); });
    expect(12, [](int) { return 0xff; });
    expect(13, [](int) { return 1; });
    expect(14, [](int t) { return (t / 8 * 8) / 12 == (t / 8 * 8 + 7) / 12 ? 0xff : 0; });
    expect(15, [](int t) { return 10 * (t % 8 / 2) + 4; });
    expect(16, [](int t) { return t | 1; });
    expect(17, [](int t) { return t / 8 * 8 + 6; });
    expect(18, [](int t) { return t / 8; });
    expect(19, [](int) { return 1; });
  });
}

template <class Group>
__device__ void collectives(const Group& group, int value, int* row) {
  row[0] = cg::reduce(group, value, cg::plus<int>());
  row[1] = cg::reduce(group, value, cg::less<int>());
  row[2] = cg::reduce(group, value, cg::greater<int>());
  row[3] = cg::reduce(group, value, cg::bit_and<int>());
  row[4] = cg::reduce(group, value, cg::bit_or<int>());
  row[5] = cg::reduce(group, value, cg::bit_xor<int>());
  row[6] = cg::inclusive_scan(group, value);
  row[7] = cg::exclusive_scan(group, value);
  row[8] = cg::inclusive_scan(group, value, cg::greater<int>());
  row[9] = static_cast<int>(cg::reduce(group, value * 0.5, cg::plus<double>()) * 2);
}
__global__ void reduce_in_tiles(const int* in, int* out) {
  const auto tile = cg::tiled_partition<16>(cg::this_thread_block());
  const auto me = static_cast<int>(threadIdx.x);
  collectives(tile, in[me], out + 10 * me);
}
__global__ void reduce_coalesced(const int* in, int* out) {
  const auto me = static_cast<int>(threadIdx.x);
  if (me % 3 == 1) collectives(cg::coalesced_threads(), in[me], out + 10 * me);
}

/// What each row must be, for a group that consists of these threads in this order.
std::vector<std::vector<int>> expected_collectives(const std::vector<int>& values) {
  std::vector<std::vector<int>> rows;
  int sum = 0, low = values[0], high = values[0], ands = -1, ors = 0, xors = 0;
  for (const int v : values) {
    sum += v;
    low = std::min(low, v);
    high = std::max(high, v);
    ands &= v;
    ors |= v;
    xors ^= v;
  }
  int running = 0, running_high = values[0];
  for (const int v : values) {
    running_high = std::max(running_high, v);
    rows.push_back({sum, low, high, ands, ors, xors, running + v, running, running_high, sum});
    running += v;
  }
  return rows;
}
std::vector<int> uneven_values(int count) {
  return for_threads(count, [](int t) { return (t * 37 + 11) % 101 - 40; });
}
std::vector<int> row_of(const std::vector<int>& rows, int thread) {
  return {rows.begin() + 10 * thread, rows.begin() + 10 * thread + 10};
}

TEST(Groups, TilesReduceAndScan) {
  in_every_order([] {
    const auto values = uneven_values(96);
    const device_array<int> in(values), out(960, -1);
    reduce_in_tiles<<<1, 96>>>(in.data(), out.data());
    const auto rows = out.to_host();
    for (int first = 0; first < 96; first += 16) {
      const auto expected =
          expected_collectives({values.begin() + first, values.begin() + first + 16});
      for (int t = 0; t < 16; ++t)
        EXPECT_EQ(row_of(rows, first + t), expected[static_cast<std::size_t>(t)]) << first + t;
    }
  });
}

// --- tiles of several warps ----------------------------------------------------------------------

template <unsigned Size>
__global__ void large_tiles(const int* in, int* out) {
  __shared__ cg::block_tile_memory<256> memory;
  __shared__ int values[256];
  const cg::thread_block block = cg::this_thread_block(memory);
  const auto tile = cg::tiled_partition<Size>(block);
  const auto me = static_cast<unsigned>(block.thread_rank());
  const auto rank = static_cast<unsigned>(tile.thread_rank());
  int* const row = out + 10 * me;
  row[0] = static_cast<int>(rank);
  row[1] = static_cast<int>(tile.meta_group_rank());
  row[2] = static_cast<int>(tile.meta_group_size());
  row[3] = static_cast<int>(tile.size());
  // Every tile as often as its number says: tiles do not wait for each other.
  for (unsigned round = 0; round <= tile.meta_group_rank(); ++round) {
    values[me] = in[me] + static_cast<int>(round);
    tile.sync();
    row[4] = values[me - rank + (rank + 33) % Size];
    tile.sync();
  }
  row[5] = tile.shfl(in[me], Size - 2);
  row[6] = tile.any(in[me] == 60);
  row[7] = tile.all(in[me] > -40);
  row[8] = cg::reduce(tile, in[me], cg::plus<int>());
  row[9] = static_cast<int>(2 * cg::reduce(tile, in[me] * 0.5, cg::greater<double>()));
}

template <unsigned Size>
void expect_large_tiles() {
  const auto values = uneven_values(256);
  const device_array<int> in(values), out(2560, -1);
  large_tiles<Size><<<1, 256>>>(in.data(), out.data());
  const auto rows = out.to_host();
  for (unsigned t = 0; t < 256; ++t) {
    const unsigned rank = t % Size, meta = t / Size, first = t - rank;
    const std::vector<int> tile(values.begin() + first, values.begin() + first + Size);
    const std::vector<int> expected = {static_cast<int>(rank),
                                       static_cast<int>(meta),
                                       256 / Size,
                                       Size,
                                       tile[(rank + 33) % Size] + static_cast<int>(meta),
                                       tile[Size - 2],
                                       std::count(tile.begin(), tile.end(), 60) != 0,
                                       *std::min_element(tile.begin(), tile.end()) > -40,
                                       std::accumulate(tile.begin(), tile.end(), 0),
                                       *std::max_element(tile.begin(), tile.end())};
    EXPECT_EQ(row_of(rows, static_cast<int>(t)), expected) << "tiles of " << Size << ", " << t;
  }
}

TEST(Groups, TilesOfSeveralWarpsWorkTogether) {
  in_every_order([] {
    expect_large_tiles<64>();
    expect_large_tiles<128>();
  });
}

// Tiles of tiles, down to a part of a warp.
__global__ void tiles_of_large_tiles(int* out) {
  __shared__ cg::block_tile_memory<256> memory;
  const cg::thread_block block = cg::this_thread_block(memory);
  const auto tile = cg::tiled_partition<128>(block);
  const auto warp = cg::tiled_partition<32>(tile);
  const auto four = cg::tiled_partition<4>(warp);
  int* const row = out + 3 * block.thread_rank();
  row[0] = static_cast<int>(10 * warp.meta_group_rank() + warp.meta_group_size());
  row[1] = static_cast<int>(10 * four.meta_group_rank() + four.meta_group_size());
  row[2] = four.shfl(static_cast<int>(tile.thread_rank()), 2);
}

TEST(Groups, ATileOfSeveralWarpsIsDivided) {
  in_every_order([] {
    const device_array<int> out(3 * 256, -1);
    tiles_of_large_tiles<<<1, 256>>>(out.data());
    const auto rows = out.to_host();
    EXPECT_EQ(column<3>(rows, 0), for_threads(256, [](int t) { return t % 128 / 32 * 10 + 4; }));
    EXPECT_EQ(column<3>(rows, 1), for_threads(256, [](int t) { return t % 32 / 4 * 10 + 8; }));
    EXPECT_EQ(column<3>(rows, 2), for_threads(256, [](int t) { return t % 128 / 4 * 4 + 2; }));
  });
}

// --- coalesced threads ---------------------------------------------------------------------------

TEST(Groups, CoalescedThreadsReduceAndScan) {
  in_every_order([] {
    const auto values = uneven_values(64);
    const device_array<int> in(values), out(640, -1);
    reduce_coalesced<<<1, 64>>>(in.data(), out.data());
    const auto rows = out.to_host();
    for (int warp = 0; warp < 64; warp += 32) {
      std::vector<int> group;
      for (int t = warp; t < warp + 32; ++t)
        if (t % 3 == 1) group.push_back(values[static_cast<std::size_t>(t)]);
      const auto expected = expected_collectives(group);
      std::size_t rank = 0;
      for (int t = warp; t < warp + 32; ++t) {
        if (t % 3 == 1) {
          EXPECT_EQ(row_of(rows, t), expected[rank++]) << t;
        }
      }
    }
    EXPECT_EQ(rows[0], -1);
  });
}

__global__ void float_sum_order(float* out) {
  const auto tile = cg::tiled_partition<32>(cg::this_thread_block());
  const float value = 1.0F / static_cast<float>(1 + threadIdx.x * threadIdx.x);
  const float reduced = cg::reduce(tile, value, cg::plus<float>());
  float sum = value;
  for (int offset = 16; offset > 0; offset /= 2) sum += tile.shfl_down(sum, offset);
  if (threadIdx.x == 0) {
    out[0] = reduced;
    out[1] = sum;
  }
}
TEST(Groups, FloatsAreAddedAsShufflesWouldAddThem) {
  const device_array<float> out(2, 0.0F);
  float_sum_order<<<1, 32>>>(out.data());
  EXPECT_EQ(out.to_host()[0], out.to_host()[1]);
}

// --- groups of groups ---------------------------------------------------------------------------

__global__ void coalesced(int* out) {
  const auto me = static_cast<int>(threadIdx.x);
  if (me % 4 == 2) return;
  if (me % 2 == 0) {  // lanes 0, 4, 8 ... 28 of each warp
    const cg::coalesced_group group = cg::coalesced_threads();
    int* const row = out + 12 * me;
    row[0] = static_cast<int>(group.size());
    row[1] = static_cast<int>(group.thread_rank());
    row[2] = group.shfl(me, 3);
    row[3] = group.shfl_up(me, 1);
    row[4] = group.shfl_down(me, 1);
    row[5] = static_cast<int>(group.ballot(me % 32 < 16));
    row[6] = group.any(me == 4) != 0;
    row[7] = group.all(me < 32) != 0;
    row[8] = static_cast<int>(group.match_any(me % 32 / 8));
    const auto half = cg::tiled_partition(group, 4);
    row[9] = static_cast<int>(100 * half.meta_group_rank() + 10 * half.size() + half.thread_rank());
    const auto part = cg::labeled_partition(group, me / 4 % 3);
    row[10] = static_cast<int>(100 * part.size() + part.thread_rank());
    const auto odd = cg::binary_partition(group, me % 8 == 4);
    row[11] = odd.shfl(me, 1);
  }
}

TEST(Groups, CoalescedThreadsAreRankedByLane) {
  in_every_order([] {
    const device_array<int> out(12 * 64, -1);
    coalesced<<<1, 64>>>(out.data());
    const auto rows = out.to_host();
    for (int t = 0; t < 64; t += 4) {
      const auto row = std::vector<int>(rows.begin() + 12 * t, rows.begin() + 12 * t + 12);
      const int warp = t / 32 * 32, rank = t % 32 / 4;
      const std::vector<int> expected = {8, rank, warp + 12, rank == 0 ? t : t - 4,
                                         rank == 7 ? t : t + 4, 0b00001111, warp == 0, warp == 0,
                                         3 << (rank / 2 * 2), 100 * (rank / 4) + 40 + rank % 4,
                                         // ranks 0..7 (+8 in the second warp) have labels rank % 3
                                         [&] {
                                           int size = 0, before = 0;
                                           for (int r = 0; r < 8; ++r)
                                             if ((warp / 4 + r) % 3 == (warp / 4 + rank) % 3) {
                                               ++size;
                                               before += r < rank;
                                             }
                                           return 100 * size + before;
                                         }(),
                                         warp + (rank % 2 == 1 ? 12 : 8)};
      EXPECT_EQ(row, expected) << "thread " << t;
    }
    EXPECT_EQ(rows[12], -1);
  });
}

__global__ void part_of_a_warp(int* out) {
  const auto tile = cg::tiled_partition<32>(cg::this_thread_block());
  const auto me = static_cast<int>(threadIdx.x);
  if (me >= 32) {
    const auto rest = cg::coalesced_threads();
    out[me] = cg::reduce(rest, me, cg::plus<int>()) + 1000 * static_cast<int>(rest.size());
  } else {
    out[me] = cg::reduce(tile, me, cg::plus<int>());
  }
}
TEST(Groups, TheLastWarpMayBeAPartOfOne) {
  in_every_order([] {
    const device_array<int> out(40, -1);
    part_of_a_warp<<<1, 40>>>(out.data());
    EXPECT_EQ(out.to_host(),
              for_threads(40, [](int t) { return t < 32 ? 496 : 8 * 32 + 28 + 8000; }));
  });
}

__global__ void one_for_all(int* calls, int* out) {
  const auto tile = cg::tiled_partition<16>(cg::this_thread_block());
  cg::invoke_one(tile, [&] { atomicAdd(calls, 1); });
  out[threadIdx.x] = cg::invoke_one_broadcast(tile, [&] { return atomicAdd(calls + 1, 10); });
}
TEST(Groups, OneThreadWorksForAll) {
  const device_array<int> calls(2, 0), out(32, -1);
  one_for_all<<<1, 32>>>(calls.data(), out.data());
  EXPECT_EQ(calls.to_host(), (std::vector<int>{2, 20}));
  const auto host = out.to_host();
  for (std::size_t t = 0; t < 32; ++t) EXPECT_EQ(host[t], host[t / 16 * 16]);
  EXPECT_EQ(host[0] + host[16], 10);
}

// --- copies -------------------------------------------------------------------------------------

__global__ void copy_reversed(const int* in, int* out, int n) {
  __shared__ int shared[300];
  const auto block = cg::this_thread_block();
  cg::memcpy_async(block, shared, in, sizeof(int) * static_cast<unsigned>(n));
  cg::wait(block);
  for (int i = static_cast<int>(threadIdx.x); i < n; i += static_cast<int>(blockDim.x))
    out[i] = shared[n - 1 - i];
}
TEST(Groups, CopyTogether) {
  in_every_order([] {
    for (const int n : {1, 3, 4, 5, 127, 128, 129, 300}) {
      std::vector<int> host = for_threads(n, [](int t) { return 7 * t + 1; });
      const device_array<int> in(host), out(static_cast<std::size_t>(n), 0);
      copy_reversed<<<1, 64>>>(in.data(), out.data(), n);
      std::reverse(host.begin(), host.end());
      EXPECT_EQ(out.to_host(), host) << n;
    }
  });
}

#ifdef __CPU_DEVICE__
__global__ void sync_the_grid() { cg::this_grid().sync(); }

TEST(Groups, TheGridCannotSynchroniseInAnOrdinaryLaunch) {
  const std::size_t before = cpu_device::report_count();
  sync_the_grid<<<2, 32>>>();
  EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorLaunchFailure);
  EXPECT_EQ(cpu_device::report_count(), before + 1);
  const std::string text = cpu_device::last_report();
  EXPECT_NE(text.find("cudaLaunchCooperativeKernel"), std::string::npos) << text;
  EXPECT_NE(text.find("cooperative_groups_test.cu:"), std::string::npos) << text;
  EXPECT_EQ(cudaDeviceReset(), cudaSuccess);
}

__global__ void tile_without_a_lane(int* out) {
  const auto tile = cg::tiled_partition<8>(cg::this_thread_block());
  if (threadIdx.x != 3) *out = tile.shfl(1, 0);
}
TEST(Groups, ATileThatLacksAThreadIsReported) {
  const device_array<int> out(1, 0);
  const std::size_t before = cpu_device::report_count();
  tile_without_a_lane<<<1, 8>>>(out.data());
  EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorLaunchFailure);
  EXPECT_EQ(cpu_device::report_count(), before + 1);
  const std::string text = cpu_device::last_report();
  EXPECT_NE(text.find("wait in shfl() at cooperative_groups_test.cu:"), std::string::npos) << text;
  EXPECT_EQ(cudaDeviceReset(), cudaSuccess);
}

__global__ void tiles_without_a_lane(int* out) {
  const auto tile = cg::tiled_partition<4>(cg::this_thread_block());
  if (tile.thread_rank() != 3) *out = tile.shfl(1, 0);
}
TEST(Groups, ManyTilesThatLackAThreadAreReportedInThreeLines) {
  const device_array<int> out(1, 0);
  tiles_without_a_lane<<<1, 32>>>(out.data());
  EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorLaunchFailure);
  const std::string text = cpu_device::last_report();
  for (const char* part :
       {"\n  3 threads (0-2) wait in shfl() at ", " (mask 0x0000000f)\n  3 threads (4-6) wait in ",
        "(mask 0x000000f0)\n  18 threads (8-10, 12-14, 16-18, 20-22, 24-26, 28-30) wait in shfl() ",
        " (6 other masks)\n  8 threads (3, 7, 11, 15, 19, 23, 27, 31) have left the kernel\n"})
    EXPECT_NE(text.find(part), std::string::npos) << part << " is not in: " << text;
  EXPECT_EQ(cudaDeviceReset(), cudaSuccess);
}

__global__ void large_tile_without_a_warp() {
  const auto tile = cg::tiled_partition<64>(cg::this_thread_block());
  if (threadIdx.x < 96) tile.sync();
}
TEST(Groups, ATileThatLacksAWarpIsReported) {
  const std::size_t before = cpu_device::report_count();
  large_tile_without_a_warp<<<1, 128>>>();
  EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorLaunchTimeout);
  EXPECT_EQ(cpu_device::report_count(), before + 1);
  const std::string text = cpu_device::last_report();
  EXPECT_NE(text.find("wait in sync() at cooperative_groups_test.cu:"), std::string::npos) << text;
  EXPECT_EQ(cudaDeviceReset(), cudaSuccess);
}

__global__ void end_of_a_large_tile(int* out) {
  const auto tile = cg::tiled_partition<64>(cg::this_thread_block());
  out[threadIdx.x] = cg::reduce(tile, 1, cg::plus<int>());
}
TEST(Groups, TheLastTileOfSeveralWarpsMayBeAPartOfOne) {
  in_every_order([] {
    const device_array<int> out(100, -1);
    end_of_a_large_tile<<<1, 100>>>(out.data());
    EXPECT_EQ(out.to_host(), for_threads(100, [](int t) { return t < 64 ? 64 : 36; }));
  });
}
#endif

}  // namespace
