// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Reports on code that uses tensor cores wrongly, and what the check build sees of them.

#include <cuda_fp16.h>
#include <mma.h>

#include <string>

#include "cpu_device_testing.hpp"

namespace {

using cpu_device::access_counters;
using cpu_device::access_kind;
using cpu_device_testing::device_array;
using cpu_device_testing::expect_report;
using cpu_device_testing::in_every_order;
namespace wmma = nvcuda::wmma;

using part_of_a = wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major>;
using part_of_b = wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::row_major>;
using sums = wmma::fragment<wmma::accumulator, 16, 16, 16, float>;

void expect_parts(const std::string& report, const std::vector<std::string>& parts) {
  for (const std::string& part : parts)
    EXPECT_NE(report.find(part), std::string::npos) << part << " is not in: " << report;
}
std::string line_of(int line) { return "tensor_cores_check_test.cu:" + std::to_string(line); }

// --- in every build -----------------------------------------------------------------------------

constexpr int kHalfLine = __LINE__ + 3;
__global__ void load_with_half_of_the_warp(const float* from, float* to) {
  sums f;
  if (threadIdx.x < 16) wmma::load_matrix_sync(f, from, 16, wmma::mem_row_major);
  to[256 + threadIdx.x] = f.x[0];
}

TEST(TensorCoreReports, ThreadsThatDoNotTakePart) {
  const device_array<float> data(512, 0.0F);
  expect_parts(
      expect_report([&] { load_with_half_of_the_warp<<<1, 32>>>(data.data(), data.data()); },
                    cudaErrorLaunchFailure),
      {"threads of a warp do not meet", "wmma::load_matrix_sync at " + line_of(kHalfLine),
       "16 threads (0-15)", "16 threads (16-31) have left the kernel", "All 32 threads of a warp"});
}

constexpr int kStoreLine = __LINE__ + 5;
__global__ void fill(float* to) {
  sums f;
  wmma::fill_fragment(f, 1.0F);
  // The call that is looked at.
  wmma::store_matrix_sync(to, f, 16, wmma::mem_row_major);
}

TEST(TensorCoreReports, AWarpWithFewerThreads) {
  const device_array<float> data(256, 0.0F);
  expect_parts(expect_report([&] { fill<<<1, 48>>>(data.data()); }, cudaErrorLaunchFailure),
               {"needs all 32 threads of a warp", line_of(kStoreLine)});
}
TEST(TensorCoreReports, AnAddressThatIsNotAligned) {
  const device_array<float> data(512, 0.0F);
  expect_parts(expect_report([&] { fill<<<1, 32>>>(data.data() + 4); }, cudaErrorLaunchFailure),
               {"multiple of 32 bytes", line_of(kStoreLine)});
}

constexpr int kStrideLine = __LINE__ + 4;
template <class T>
__global__ void load(const T* from, float* to, unsigned stride) {
  wmma::fragment<wmma::matrix_a, 32, 8, 16, T, wmma::col_major> a;
  wmma::load_matrix_sync(a, from, stride);
  to[threadIdx.x] = static_cast<float>(a.x[3]);
}

TEST(TensorCoreReports, ALeadingDimensionThatIsNoMultipleOf16Bytes) {
  const device_array<__half> data(1024, __half(1.0F));
  const device_array<signed char> bytes(1024, 1);
  const device_array<float> to(32, 0.0F);
  load<<<1, 32>>>(data.data(), to.data(), 40);
  load<<<1, 32>>>(bytes.data(), to.data(), 48);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_EQ(to.to_host(), std::vector<float>(32, 1.0F));
  const auto expect = [&](auto launch) {
    expect_parts(expect_report(launch, cudaErrorLaunchFailure),
                 {"leading dimension", "multiple of 16 bytes", line_of(kStrideLine)});
  };
  expect([&] { load<<<1, 32>>>(data.data(), to.data(), 36); });
}

__global__ void load_own_rows(const float* from, float* to) {
  sums f;
  wmma::load_matrix_sync(f, from + threadIdx.x * 16, 16, wmma::mem_row_major);
  to[threadIdx.x] = f.x[0];
}
__global__ void load_in_two_places(const float* from, float* to) {
  sums f;
  if (threadIdx.x % 2 == 0)
    wmma::load_matrix_sync(f, from, 16, wmma::mem_row_major);
  else
    wmma::load_matrix_sync(f, from, 16, wmma::mem_row_major);
  to[threadIdx.x] = f.x[0];
}

TEST(TensorCoreReports, ThreadsThatNameDifferentMatrices) {
  const device_array<float> data(1024, 0.0F);
  expect_parts(expect_report([&] { load_own_rows<<<1, 32>>>(data.data(), data.data()); },
                             cudaErrorLaunchFailure),
               {"different addresses, leading dimensions or layouts"});
}
TEST(TensorCoreReports, ThreadsAtDifferentCalls) {
  const device_array<float> data(1024, 0.0F);
  expect_parts(expect_report([&] { load_in_two_places<<<1, 32>>>(data.data(), data.data()); },
                             cudaErrorLaunchFailure),
               {"different calls of a function of nvcuda::wmma"});
}

// --- in the check build -------------------------------------------------------------------------

enum class sync { right, missing };

/// Each warp writes a tile that the next one multiplies.
template <sync Sync>
__global__ void multiply_neighbours_tile(float* to) {
  __shared__ alignas(32) __half tile[2][256];
  const unsigned warp = threadIdx.x / 32;
  for (unsigned i = threadIdx.x % 32; i < 256; i += 32)
    tile[warp][i] = __float2half(static_cast<float>(i % 5));
  if (Sync == sync::right) __syncthreads();
  part_of_a a;
  part_of_b b;
  sums c[2];
  wmma::load_matrix_sync(a, tile[1 - warp], 16);
  wmma::fill_fragment(b, __float2half(1.0F));
  for (auto& sum : c) {
    wmma::fill_fragment(sum, 0.0F);
    wmma::mma_sync(sum, a, b, sum);
  }
  for (int i = 0; i < c[0].num_elements; ++i) c[0].x[i] += c[1].x[i];
  wmma::store_matrix_sync(to + warp * 256, c[0], 16, wmma::mem_row_major);
}
/// A warp writes a tile that it loads, and reads one that it has stored.
template <sync Before, sync After>
__global__ void pass_through_tile(float* data) {
  __shared__ alignas(32) float tile[256];
  for (unsigned i = threadIdx.x; i < 256; i += 32) tile[i] = data[i];
  if (Before == sync::right) __syncwarp();
  sums f;
  wmma::load_matrix_sync(f, tile, 16, wmma::mem_col_major);
  wmma::store_matrix_sync(tile, f, 16, wmma::mem_row_major);
  if (After == sync::right) __syncwarp();
  for (unsigned i = threadIdx.x; i < 256; i += 32) data[i] = tile[i];
}

template <class Launch>
std::size_t races(Launch launch) {
  const std::size_t before = cpu_device::report_count();
  launch();
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  return cpu_device::report_count() - before;
}

#ifdef CPU_DEVICE_CHECK
TEST(TensorCoreRaces, AreNotSeenWhereThereIsABarrier) {
  in_every_order([] {
    const device_array<float> data(512, 1.0F);
    EXPECT_EQ(races([&] { multiply_neighbours_tile<sync::right><<<1, 64>>>(data.data()); }), 0U)
        << cpu_device::last_report();
    EXPECT_EQ(races([&] { pass_through_tile<sync::right, sync::right><<<1, 32>>>(data.data()); }),
              0U)
        << cpu_device::last_report();
  });
}
TEST(TensorCoreRaces, AreSeenBetweenWarps) {
  in_every_order([] {
    const device_array<float> data(512, 1.0F);
    multiply_neighbours_tile<sync::missing><<<1, 64>>>(data.data());
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  });
  expect_parts(cpu_device::last_report(), {"race on shared memory", "tensor_cores_check_test.cu:"});
}
TEST(TensorCoreRaces, AreSeenWhereALoadComesTooEarly) {
  const device_array<float> data(256, 1.0F);
  EXPECT_GT(races([&] { pass_through_tile<sync::missing, sync::right><<<1, 32>>>(data.data()); }),
            0U);
}
TEST(TensorCoreRaces, AreSeenWhereAStoreIsReadTooEarly) {
  const device_array<float> data(256, 1.0F);
  EXPECT_GT(races([&] { pass_through_tile<sync::right, sync::missing><<<1, 32>>>(data.data()); }),
            0U);
}

TEST(TensorCoreChecks, KnowTheEndOfTheMatrix) {
  const device_array<float> data(256, 0.0F);
  fill<<<1, 32>>>(data.data());
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  const device_array<float> small(255, 0.0F);
  expect_parts(expect_report([&] { fill<<<1, 32>>>(small.data()); }, cudaErrorIllegalAddress),
               {line_of(kStoreLine), "1020 bytes"});
}

TEST(TensorCoreCounters, CountRequestsAsAWarpMakesThem) {
  const device_array<float> data(512, 1.0F);
  const device_array<__half> half(32 * 16, __half(1.0F));
  const device_array<float> to(32, 0.0F);
  in_every_order([&] {
    cpu_device::reset_counters();
    cpu_device::count_accesses(true);
    fill<<<1, 32>>>(data.data());
    load<<<1, 32>>>(half.data(), to.data(), 32);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    cpu_device::count_accesses(false);
    std::uint64_t stores = 0, loads = 0;
    for (const access_counters& row : cpu_device::read_counters()) {
      if (row.kind == access_kind::global_store && row.line == kStoreLine) {
        ++stores;
        EXPECT_EQ(row.bytes, 8U);
        EXPECT_EQ(row.requests, 4U);  // 8 rows of 32 bytes each
        EXPECT_EQ(row.lanes, 128U);
        EXPECT_EQ(row.sectors, 32U);
        EXPECT_EQ(row.bytes_used, 1024U);
      }
      if (row.kind == access_kind::global_load && row.line == kStrideLine) {
        ++loads;
        EXPECT_EQ(row.bytes, 4U);
        EXPECT_EQ(row.requests, 8U);  // 8 columns of 16 bytes each
        EXPECT_EQ(row.sectors, 64U);
        EXPECT_EQ(row.bytes_used, 1024U);
      }
    }
    EXPECT_EQ(stores, 1U);
    EXPECT_EQ(loads, 1U);
  });
}
#endif

}  // namespace
