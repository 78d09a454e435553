// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// The counters of the check build: requests of warps, sectors, wavefronts, turns of atomics. The
// expected numbers are computed by hand, from what is known about the hardware.

#include <cpu_device.h>
#include <cuda_pipeline.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "cpu_device_testing.hpp"

#ifdef CPU_DEVICE_CHECK

namespace {

using cpu_device::access_counters;
using cpu_device::access_kind;
using cpu_device_testing::device_array;
using cpu_device_testing::in_every_order;

/// What a launch costs.
class counted {
 public:
  template <class Launch>
  explicit counted(Launch launch) {
    cpu_device::reset_counters();
    cpu_device::count_accesses(true);
    launch();
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    cpu_device::count_accesses(false);
    rows_ = cpu_device::read_counters();
  }

  /// All accesses of a kind; those of one line if it is given.
  access_counters all(access_kind kind, int line = 0) const {
    access_counters sum;
    for (const access_counters& row : rows_) {
      if (row.kind != kind || (line != 0 && row.line != line)) continue;
      sum.bytes = row.bytes;
      sum.requests += row.requests;
      sum.lanes += row.lanes;
      sum.lanes_of_warps += row.lanes_of_warps;
      sum.sectors += row.sectors;
      sum.ideal_sectors += row.ideal_sectors;
      sum.bytes_used += row.bytes_used;
      sum.wavefronts += row.wavefronts;
      sum.ideal_wavefronts += row.ideal_wavefronts;
      sum.turns += row.turns;
      sum.same_address += row.same_address;
      sum.not_counted += row.not_counted;
    }
    return sum;
  }
  const std::vector<access_counters>& rows() const { return rows_; }

 private:
  std::vector<access_counters> rows_;
};

double per_request(std::uint64_t count, const access_counters& c) {
  return static_cast<double>(count) / static_cast<double>(c.requests);
}

// --- global memory ------------------------------------------------------------------------------

template <class T>
__global__ void copy_strided(const T* in, T* out, unsigned stride, unsigned offset) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = in[i * stride + offset];
}

constexpr int kCopyLine = __LINE__ + 3;
__global__ void copy_asynchronously(const int* in, int* out) {
  __shared__ int staged[64];
  __pipeline_memcpy_async(&staged[threadIdx.x], &in[threadIdx.x], sizeof(int));
  __pipeline_commit();
  __pipeline_wait_prior(0);
  out[threadIdx.x] = staged[threadIdx.x];
}

TEST(CheckBuild, KnowsThatItIsOne) { EXPECT_TRUE(cpu_device::is_check_build()); }

TEST(Counters, KnowTheLineOfAnAsynchronousCopy) {
  const device_array<int> in(64, 0), out(64, 0);
  const counted c([&] { copy_asynchronously<<<1, 64>>>(in.data(), out.data()); });
  EXPECT_EQ(c.all(access_kind::global_load, kCopyLine).requests, 2U);
  EXPECT_EQ(c.all(access_kind::shared_store, kCopyLine).requests, 2U);
}

template <class T>
double sectors_a_request(unsigned stride, unsigned offset = 0) {
  const device_array<T> in(4 * 64 * stride + 64, T{});
  const device_array<T> out(4 * 64, T{});
  double loaded = 0;
  in_every_order([&] {
    const counted c([&] { copy_strided<<<4, 64>>>(in.data(), out.data(), stride, offset); });
    const access_counters load = c.all(access_kind::global_load);
    EXPECT_EQ(load.requests, 8U);  // 4 blocks of 2 warps
    EXPECT_EQ(load.lanes, 256U);
    EXPECT_EQ(load.lanes_of_warps, 256U);
    EXPECT_EQ(load.bytes, sizeof(T));
    EXPECT_EQ(load.bytes_used, 256 * sizeof(T));
    EXPECT_EQ(load.not_counted, 0U);
    EXPECT_EQ(c.all(access_kind::global_store).sectors, 8 * sizeof(T));
    loaded = per_request(load.sectors, load);
  });
  return loaded;
}

TEST(Counters, SectorsGrowWithTheStrideUpToOneALane) {
  EXPECT_EQ(sectors_a_request<float>(1), 4);
  EXPECT_EQ(sectors_a_request<float>(2), 8);
  EXPECT_EQ(sectors_a_request<float>(4), 16);
  EXPECT_EQ(sectors_a_request<float>(8), 32);
  EXPECT_EQ(sectors_a_request<float>(16), 32);
  EXPECT_EQ(sectors_a_request<float>(33), 32);
}

TEST(Counters, AMisalignedRequestTouchesOneSectorMore) {
  EXPECT_EQ(sectors_a_request<float>(1, 1), 5);
  EXPECT_EQ(sectors_a_request<float>(1, 7), 5);
  EXPECT_EQ(sectors_a_request<float>(1, 8), 4);
}

TEST(Counters, SectorsFollowTheSizeOfTheElements) {
  EXPECT_EQ(sectors_a_request<char>(1), 1);
  EXPECT_EQ(sectors_a_request<short>(1), 2);
  EXPECT_EQ(sectors_a_request<double>(1), 8);
  EXPECT_EQ(sectors_a_request<float2>(1), 8);
  EXPECT_EQ(sectors_a_request<float4>(1), 16);
  EXPECT_EQ(sectors_a_request<float4>(2), 32);
}

TEST(Counters, TheBestCaseIsAsManySectorsAsHoldTheBytes) {
  const device_array<float> in(1024, 0.0F), out(1024, 0.0F);
  const access_counters strided = counted([&] {
                                    copy_strided<<<1, 32>>>(in.data(), out.data(), 8, 0);
                                  }).all(access_kind::global_load);
  EXPECT_EQ(strided.sectors, 32U);
  EXPECT_EQ(strided.ideal_sectors, 4U);
  EXPECT_EQ(strided.bytes_used, 128U);
  const access_counters one =  // all lanes read one element
      counted([&] {
        copy_strided<<<1, 32>>>(in.data(), out.data(), 0, 3);
      }).all(access_kind::global_load);
  EXPECT_EQ(one.sectors, 1U);
  EXPECT_EQ(one.ideal_sectors, 1U);
  EXPECT_EQ(one.bytes_used, 4U);
}

__global__ void add_vectors_of_four(const float4* a, const float4* b, float4* sum, unsigned n) {
  for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    const float4 x = a[i], y = b[i];
    sum[i] = make_float4(x.x + y.x, x.y + y.y, x.z + y.z, x.w + y.w);
  }
}

TEST(Counters, AVectorIsOneAccessAlsoWhenItsComponentsAreUsed) {
  const device_array<float4> a(256, {1, 2, 3, 4}), b(256, {5, 6, 7, 8}), sum(256, float4{});
  const counted c([&] { add_vectors_of_four<<<1, 64>>>(a.data(), b.data(), sum.data(), 256); });
  const access_counters load = c.all(access_kind::global_load);
  const access_counters store = c.all(access_kind::global_store);
  EXPECT_EQ(load.requests, 2U * 4 * 2);  // two arrays, four rounds, two warps
  EXPECT_EQ(load.sectors, 16 * load.requests);
  EXPECT_EQ(store.requests, 4U * 2);
  EXPECT_EQ(store.sectors, 16 * store.requests);
}

struct three_floats {
  float x, y, z;
};
__global__ void sum_of_three(const three_floats* in, float* out) {
  const three_floats v = in[threadIdx.x];
  out[threadIdx.x] = v.x + v.y + v.z;
}

struct two_floats {  // aligned to 4 bytes only, unlike a float2
  float x, y;
};
__global__ void sum_of_two(const two_floats* in, float* out) {
  const two_floats v = in[threadIdx.x];
  out[threadIdx.x] = v.x + v.y;
}

TEST(Counters, AStructureIsLoadedMemberByMember) {
  const device_array<two_floats> pairs(32, two_floats{});
  const device_array<float> sums(32, 0.0F);
  const access_counters two = counted([&] {
                                sum_of_two<<<1, 32>>>(pairs.data(), sums.data());
                              }).all(access_kind::global_load);
  EXPECT_EQ(two.requests, 2U);
  EXPECT_EQ(two.sectors, 16U);

  const device_array<three_floats> in(32, three_floats{});
  const device_array<float> out(32, 0.0F);
  const access_counters load = counted([&] {
                                 sum_of_three<<<1, 32>>>(in.data(), out.data());
                               }).all(access_kind::global_load);
  EXPECT_EQ(load.requests, 3U);
  EXPECT_EQ(load.bytes, 4U);
  EXPECT_EQ(load.sectors, 36U);  // each time all of the 384 bytes' sectors
}

// --- divergence ---------------------------------------------------------------------------------

constexpr int kGuardedLine = __LINE__ + 3;
__global__ void guarded(float* out, unsigned n) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = 1.0F;
}
__global__ void even_lanes(float* out) {
  if (threadIdx.x % 2 == 0) out[threadIdx.x] = 1.0F;
}

TEST(Counters, LanesThatTakeNoPartAreSeen) {
  const device_array<float> out(128, 0.0F);
  in_every_order([&] {
    const access_counters half =
        counted([&] { guarded<<<1, 32>>>(out.data(), 16); }).all(access_kind::global_store);
    EXPECT_EQ(half.requests, 1U);
    EXPECT_EQ(half.lanes, 16U);
    EXPECT_EQ(half.lanes_of_warps, 32U);
    EXPECT_EQ(half.sectors, 2U);

    const access_counters even =
        counted([&] { even_lanes<<<1, 32>>>(out.data()); }).all(access_kind::global_store);
    EXPECT_EQ(even.requests, 1U);
    EXPECT_EQ(even.lanes, 16U);
    EXPECT_EQ(even.sectors, 4U);
    EXPECT_EQ(even.ideal_sectors, 2U);

    // The last warp has 8 lanes only: all of them take part.
    const access_counters ragged =
        counted([&] { guarded<<<1, 40>>>(out.data(), 40); }).all(access_kind::global_store);
    EXPECT_EQ(ragged.requests, 2U);
    EXPECT_EQ(ragged.lanes, 40U);
    EXPECT_EQ(ragged.lanes_of_warps, 40U);
    EXPECT_EQ(ragged.sectors, 5U);
  });
}

__global__ void loop_of_different_length(float* out) {
  for (unsigned k = 0; k <= threadIdx.x; ++k) out[k * 32 + threadIdx.x] = 1.0F;
}

TEST(Counters, RoundsOfALoopAreRequestsOfTheirOwn) {
  const device_array<float> out(32 * 32, 0.0F);
  in_every_order([&] {
    const access_counters store = counted([&] {
                                    loop_of_different_length<<<1, 32>>>(out.data());
                                  }).all(access_kind::global_store);
    EXPECT_EQ(store.requests, 32U);
    EXPECT_EQ(store.lanes, 32U * 33 / 2);
    // Round k is done by lanes k to 31.
    EXPECT_EQ(store.sectors, 8U * (4 + 3 + 2 + 1));
  });
}

__global__ void barrier_in_between(float* out, unsigned rounds) {
  // Before the barrier lane 0 alone, after it all lanes: one request has 1 lane, the other 32.
  for (unsigned k = 0; k < rounds; ++k) {  // not known: two copies would be two instructions
    if (k == 1 || threadIdx.x == 0) out[k * 64 + threadIdx.x] = 1.0F;
    __syncthreads();
  }
}

TEST(Counters, ABarrierEndsRequests) {
  const device_array<float> out(96, 0.0F);
  in_every_order([&] {
    const access_counters store = counted([&] {
                                    barrier_in_between<<<1, 32>>>(out.data(), 2);
                                  }).all(access_kind::global_store);
    EXPECT_EQ(store.requests, 2U);
    EXPECT_EQ(store.lanes, 33U);
    EXPECT_EQ(store.sectors, 1U + 4U);
  });
}

__global__ void long_loop(float* out, unsigned rounds) {
  for (unsigned k = 0; k < rounds; ++k) out[k % 2 * 32 + threadIdx.x] = 1.0F;
}

TEST(Counters, ALoopThatIsTooLongIsCountedInPart) {
  const device_array<float> out(64, 0.0F);
  constexpr unsigned kRounds = 300'000;
  const access_counters store =
      counted([&] { long_loop<<<1, 32>>>(out.data(), kRounds); }).all(access_kind::global_store);
  EXPECT_GT(store.not_counted, 0U);
  EXPECT_EQ(store.lanes + store.not_counted, 32U * kRounds);
  EXPECT_GT(store.requests, 10'000U);
  EXPECT_EQ(store.lanes, 32 * store.requests);  // what is counted is counted for the whole warp
  EXPECT_EQ(store.sectors, 4 * store.requests);
}

// --- shared memory ------------------------------------------------------------------------------

template <unsigned Width>
__global__ void column_walk(float* out) {
  __shared__ float tile[32][Width];
  for (unsigned y = 0; y < 32; ++y) tile[y][threadIdx.x] = 1.0F;
  __syncthreads();
  float sum = 0;
  for (unsigned x = 0; x < 32; ++x) sum += tile[threadIdx.x][x];
  out[threadIdx.x] = sum;
}

TEST(Counters, AColumnWalkHitsOneBankUnlessRowsArePadded) {
  const device_array<float> out(32, 0.0F);
  in_every_order([&] {
    const counted bare([&] { column_walk<32><<<1, 32>>>(out.data()); });
    const access_counters load = bare.all(access_kind::shared_load);
    EXPECT_EQ(load.requests, 32U);
    EXPECT_EQ(load.wavefronts, 32U * 32);
    EXPECT_EQ(load.ideal_wavefronts, 32U);
    const access_counters store = bare.all(access_kind::shared_store);
    EXPECT_EQ(store.requests, 32U);
    EXPECT_EQ(store.wavefronts, 32U);

    const access_counters padded =
        counted([&] { column_walk<33><<<1, 32>>>(out.data()); }).all(access_kind::shared_load);
    EXPECT_EQ(padded.requests, 32U);
    EXPECT_EQ(padded.wavefronts, 32U);
  });
}

template <class T>
__global__ void gather_shared(T* out, unsigned stride) {
  extern __shared__ double memory[];
  T* cache = reinterpret_cast<T*>(memory);
  for (unsigned i = threadIdx.x; i < 32 * 32; i += 32) cache[i] = T{};
  __syncthreads();
  out[threadIdx.x] = cache[threadIdx.x * stride];
}

/// Wavefronts of one load of T by 32 lanes, `stride` elements apart.
template <class T>
std::uint64_t shared_wavefronts(unsigned stride) {
  const device_array<T> out(32, T{});
  EXPECT_EQ(cudaFuncSetAttribute(gather_shared<T>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                 32 * 32 * sizeof(T)),
            cudaSuccess);
  const access_counters load =
      counted([&] {
        gather_shared<T><<<1, 32, 32 * 32 * sizeof(T)>>>(out.data(), stride);
      }).all(access_kind::shared_load);
  EXPECT_EQ(load.requests, 1U);
  EXPECT_EQ(load.bytes, sizeof(T));
  return load.wavefronts;
}

TEST(Counters, WavefrontsFollowTheBanks) {
  EXPECT_EQ(shared_wavefronts<float>(0), 1U);  // one word for all
  EXPECT_EQ(shared_wavefronts<float>(1), 1U);
  EXPECT_EQ(shared_wavefronts<float>(2), 2U);
  EXPECT_EQ(shared_wavefronts<float>(3), 1U);
  EXPECT_EQ(shared_wavefronts<float>(8), 8U);
  EXPECT_EQ(shared_wavefronts<char>(1), 1U);
  EXPECT_EQ(shared_wavefronts<char>(4), 1U);
  EXPECT_EQ(shared_wavefronts<char>(8), 2U);
}

TEST(Counters, WideSharedAccessesTakeHalvesAndQuartersOfAWarp) {
  EXPECT_EQ(shared_wavefronts<double>(1), 2U);
  EXPECT_EQ(shared_wavefronts<float2>(1), 2U);
  EXPECT_EQ(shared_wavefronts<double>(2), 4U);
  EXPECT_EQ(shared_wavefronts<double>(16), 32U);
  EXPECT_EQ(shared_wavefronts<float4>(1), 4U);
  EXPECT_EQ(shared_wavefronts<float4>(2), 8U);
}

// --- atomics ------------------------------------------------------------------------------------

__global__ void count_into(unsigned* count, unsigned bins) {
  atomicAdd(&count[threadIdx.x % bins], 1U);
}
__global__ void count_into_shared(unsigned* out, unsigned stride) {
  __shared__ unsigned count[32 * 32];
  for (unsigned i = threadIdx.x; i < 32 * 32; i += 32) count[i] = 0;
  __syncthreads();
  atomicAdd(&count[threadIdx.x * stride], 1U);
  __syncthreads();
  out[threadIdx.x] = count[threadIdx.x];
}
__global__ void float_sum(float* sum) { atomicAdd(sum, 1.0F); }

TEST(Counters, AtomicsOfOneAddressTakeTurns) {
  const device_array<unsigned> count(32, 0U);
  in_every_order([&] {
    const access_counters one =
        counted([&] { count_into<<<1, 64>>>(count.data(), 1); }).all(access_kind::global_atomic);
    EXPECT_EQ(one.requests, 2U);
    EXPECT_EQ(one.lanes, 64U);
    EXPECT_EQ(one.turns, 64U);
    EXPECT_EQ(one.same_address, 62U);
    EXPECT_EQ(one.sectors, 2U);
    const access_counters eight =
        counted([&] { count_into<<<1, 64>>>(count.data(), 8); }).all(access_kind::global_atomic);
    EXPECT_EQ(eight.turns, 8U);  // four lanes for each bin, in both warps
    EXPECT_EQ(eight.same_address, 2U * 24);
    const access_counters apart =
        counted([&] { count_into<<<1, 64>>>(count.data(), 32); }).all(access_kind::global_atomic);
    EXPECT_EQ(apart.turns, 2U);
    EXPECT_EQ(apart.same_address, 0U);
  });
}

TEST(Counters, SharedAtomicsTakeTurnsAtABank) {
  const device_array<unsigned> out(32, 0U);
  const auto turns = [&](unsigned stride) {
    const counted c([&] { count_into_shared<<<1, 32>>>(out.data(), stride); });
    EXPECT_EQ(c.all(access_kind::shared_atomic).requests, 1U);
    EXPECT_EQ(c.all(access_kind::global_atomic).requests, 0U);
    EXPECT_EQ(c.all(access_kind::shared_store).requests, 32U);
    return c.all(access_kind::shared_atomic).turns;
  };
  EXPECT_EQ(turns(0), 32U);
  EXPECT_EQ(turns(1), 1U);
  EXPECT_EQ(turns(2), 2U);
  EXPECT_EQ(turns(32), 32U);
}

TEST(Counters, AnAtomicMadeOfCompareAndSwapIsOneAccess) {
  const device_array<float> sum(1, 0.0F);
  const counted c([&] { float_sum<<<1, 32>>>(sum.data()); });
  EXPECT_EQ(c.all(access_kind::global_atomic).requests, 1U);
  EXPECT_EQ(c.all(access_kind::global_atomic).lanes, 32U);
  EXPECT_EQ(c.all(access_kind::global_load).requests, 0U);
}

// --- variables, kernels that mix all of it ------------------------------------------------------

__constant__ alignas(32) float coefficients[64];
__global__ void read_constant(float* out, bool same) {
  out[threadIdx.x] = coefficients[same ? 3 : threadIdx.x];
}

TEST(Counters, ConstantVariablesServeOneWordAtATime) {
  const std::vector<float> values(64, 1.0F);
  ASSERT_EQ(cudaMemcpyToSymbol(coefficients, values.data(), 64 * sizeof(float)), cudaSuccess);
  const device_array<float> out(32, 0.0F);
  const access_counters same =
      counted([&] { read_constant<<<1, 32>>>(out.data(), true); }).all(access_kind::variable_load);
  EXPECT_EQ(same.requests, 1U);
  EXPECT_EQ(same.turns, 1U);
  const access_counters apart =
      counted([&] { read_constant<<<1, 32>>>(out.data(), false); }).all(access_kind::variable_load);
  EXPECT_EQ(apart.turns, 32U);
  EXPECT_EQ(apart.sectors, 4U);
}

__global__ void transpose_naive(const float* in, float* out, unsigned n) {
  const unsigned x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
  out[x * n + y] = in[y * n + x];
}
template <unsigned Width>
__global__ void transpose_tiled(const float* in, float* out, unsigned n) {
  __shared__ float tile[32][Width];
  const unsigned x = threadIdx.x, y = threadIdx.y;
  tile[y][x] = in[(blockIdx.y * 32 + y) * n + blockIdx.x * 32 + x];
  __syncthreads();
  out[(blockIdx.x * 32 + y) * n + blockIdx.y * 32 + x] = tile[x][y];
}

TEST(Counters, TheThreeTranspositions) {
  constexpr unsigned n = 64, kRequests = n * n / 32;
  const device_array<float> in(n * n, 1.0F), out(n * n, 0.0F);
  const dim3 grid(n / 32, n / 32), block(32, 32);
  in_every_order([&] {
    const counted naive([&] { transpose_naive<<<grid, block>>>(in.data(), out.data(), n); });
    EXPECT_EQ(naive.all(access_kind::global_load).sectors, 4U * kRequests);
    EXPECT_EQ(naive.all(access_kind::global_store).sectors, 32U * kRequests);

    const counted tiled([&] { transpose_tiled<32><<<grid, block>>>(in.data(), out.data(), n); });
    EXPECT_EQ(tiled.all(access_kind::global_load).sectors, 4U * kRequests);
    EXPECT_EQ(tiled.all(access_kind::global_store).sectors, 4U * kRequests);
    EXPECT_EQ(tiled.all(access_kind::shared_store).wavefronts, kRequests);
    EXPECT_EQ(tiled.all(access_kind::shared_load).wavefronts, 32U * kRequests);

    const counted padded([&] { transpose_tiled<33><<<grid, block>>>(in.data(), out.data(), n); });
    EXPECT_EQ(padded.all(access_kind::shared_store).wavefronts, kRequests);
    EXPECT_EQ(padded.all(access_kind::shared_load).wavefronts, kRequests);
  });
}

constexpr int kTreeLine = __LINE__ + 6;
__global__ void tree_sum(const int* in, int* out) {
  __shared__ int sum[128];
  sum[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  for (unsigned half = 64; half > 0; half /= 2) {
    if (threadIdx.x < half) sum[threadIdx.x] += sum[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) *out = sum[0];
}

TEST(Counters, ATreeSumOccupiesFewerAndFewerLanes) {
  const device_array<int> in(128, 1), out(1, 0);
  in_every_order([&] {
    const counted c([&] { tree_sum<<<1, 128>>>(in.data(), out.data()); });
    const access_counters store = c.all(access_kind::shared_store, kTreeLine);
    EXPECT_EQ(store.requests, 2U + 1 + 1 + 1 + 1 + 1 + 1);
    EXPECT_EQ(store.lanes, 127U);
    EXPECT_EQ(store.wavefronts, store.requests);
    const access_counters load = c.all(access_kind::shared_load, kTreeLine);
    EXPECT_EQ(load.lanes, 2U * 127);
  });
}

// --- reading them -------------------------------------------------------------------------------

TEST(Counters, NameKernelFileAndLine) {
  const device_array<float> out(32, 0.0F);
  const counted c([&] { guarded<<<1, 32>>>(out.data(), 32); });
  ASSERT_EQ(c.rows().size(), 1U);
  const access_counters& row = c.rows().front();
  EXPECT_EQ(row.kernel, "guarded");
  EXPECT_TRUE(row.file.ends_with("/counters_check_test.cu")) << row.file;
  EXPECT_EQ(row.line, kGuardedLine);
  EXPECT_EQ(row.kind, access_kind::global_store);
}

TEST(Counters, AddUpOverLaunchesUntilTheyAreReset) {
  const device_array<float> out(32, 0.0F);
  const counted two([&] {
    guarded<<<1, 32>>>(out.data(), 32);
    guarded<<<3, 32>>>(out.data(), 32);
  });
  EXPECT_EQ(two.all(access_kind::global_store).requests, 2U);
  cpu_device::reset_counters();
  EXPECT_TRUE(cpu_device::read_counters().empty());
  guarded<<<1, 32>>>(out.data(), 32);
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_TRUE(cpu_device::read_counters().empty()) << "they are off";
}

}  // namespace

#endif
