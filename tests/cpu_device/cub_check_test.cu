// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// cub's block- and warp-wide functions in the check build: silent when they are used as CUB says,
// reported when a TempStorage is used again without a barrier.

#include <cub/cub.cuh>
#include <string>

#include "cpu_device_testing.hpp"

#ifdef CPU_DEVICE_CHECK

namespace {

using cpu_device_testing::device_array;
using cpu_device_testing::in_every_order;

constexpr int kThreads = 64;

/// The reports that one launch of `kernel` causes; each pair of places is reported once.
template <class Kernel>
std::string races_of(Kernel kernel, bool with_barrier) {
  const device_array<int> data(2 * kThreads, 3);
  const std::size_t before = cpu_device::report_count();
  kernel<<<2, kThreads>>>(data.data(), with_barrier);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  return cpu_device::report_count() == before ? "" : cpu_device::last_report();
}

__global__ void reduce_twice(int* data, bool with_barrier) {
  using Reduce = cub::BlockReduce<int, kThreads>;
  __shared__ typename Reduce::TempStorage storage;
  int* mine = data + blockIdx.x * kThreads + threadIdx.x;
  const int once = Reduce(storage).Sum(*mine);
  if (with_barrier) __syncthreads();
  *mine = once + Reduce(storage).Sum(2);
}

__global__ void scan_twice(int* data, bool with_barrier) {
  using Scan = cub::BlockScan<int, kThreads>;
  __shared__ typename Scan::TempStorage storage;
  int* mine = data + blockIdx.x * kThreads + threadIdx.x;
  int once = 0, twice = 0;
  Scan(storage).ExclusiveSum(*mine, once);
  if (with_barrier) __syncthreads();
  Scan(storage).InclusiveSum(2, twice);
  *mine = once + twice;
}

__global__ void sort_twice(int* data, bool with_barrier) {
  using Sort = cub::BlockRadixSort<int, kThreads, 1>;
  __shared__ typename Sort::TempStorage storage;
  int* mine = data + blockIdx.x * kThreads + threadIdx.x;
  int key[1] = {*mine};
  Sort(storage).Sort(key);
  if (with_barrier) __syncthreads();
  Sort(storage).SortDescending(key);
  *mine = key[0];
}

__global__ void exchange_twice(int* data, bool with_barrier) {
  using Exchange = cub::BlockExchange<int, kThreads / 2, 2>;
  __shared__ typename Exchange::TempStorage storage;
  int* mine = data + blockIdx.x * kThreads + 2 * threadIdx.x;
  int items[2] = {mine[0], mine[1]};
  Exchange(storage).BlockedToStriped(items, items);
  if (with_barrier) __syncthreads();
  Exchange(storage).StripedToBlocked(items, items);
  mine[0] = items[0];
  mine[1] = items[1];
}

__global__ void warp_twice(int* data, bool with_barrier) {
  using Scan = cub::WarpScan<int>;
  __shared__ typename Scan::TempStorage storage[kThreads / 32];
  int* mine = data + blockIdx.x * kThreads + threadIdx.x;
  int once = 0, twice = 0;
  Scan(storage[threadIdx.x / 32]).InclusiveSum(*mine, once);
  if (with_barrier) __syncwarp();
  Scan(storage[threadIdx.x / 32]).InclusiveSum(2, twice);
  *mine = once + twice;
}

TEST(CubCheck, IsSilentWhenTheStorageIsUsedAgainBehindABarrier) {
  in_every_order([] {
    EXPECT_EQ(races_of(reduce_twice, true), "");
    EXPECT_EQ(races_of(scan_twice, true), "");
    EXPECT_EQ(races_of(sort_twice, true), "");
    EXPECT_EQ(races_of(warp_twice, true), "");
  });
}

TEST(CubCheck, ReportsStorageThatIsUsedAgainWithoutABarrier) {
  EXPECT_NE(races_of(reduce_twice, false).find("race on shared memory in kernel"),
            std::string::npos);
  EXPECT_NE(races_of(scan_twice, false), "");
  EXPECT_NE(races_of(sort_twice, false), "");
  EXPECT_NE(races_of(warp_twice, false), "");
}

std::string exchange_races(bool with_barrier) {
  const device_array<int> data(2 * kThreads, 3);
  const std::size_t before = cpu_device::report_count();
  exchange_twice<<<2, kThreads / 2>>>(data.data(), with_barrier);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  return cpu_device::report_count() == before ? "" : cpu_device::last_report();
}

TEST(CubCheck, KnowsExchanges) {
  EXPECT_EQ(exchange_races(true), "");
  EXPECT_NE(exchange_races(false), "");
}

TEST(CubCheck, TheDeviceWideFunctionsAreSilent) {
  const device_array<int> data(1000, 3), sorted(1000, 0), sum(1, 0);
  const device_array<char> temp(10000, 0);
  const std::size_t before = cpu_device::report_count();
  std::size_t bytes = 10000;
  EXPECT_EQ(cub::DeviceRadixSort::SortKeys(temp.data(), bytes, data.data(), sorted.data(), 1000),
            cudaSuccess);
  EXPECT_EQ(cub::DeviceReduce::Sum(temp.data(), bytes, sorted.data(), sum.data(), 1000),
            cudaSuccess);
  EXPECT_EQ(sum.to_host()[0], 3000);
  EXPECT_EQ(cpu_device::report_count(), before);
}

TEST(CubCheck, ABlockOfAnotherSizeIsReported) {
  const device_array<int> data(256, 3);
  const std::string text = cpu_device_testing::expect_report(
      [&] { reduce_twice<<<1, 128>>>(data.data(), true); }, cudaErrorLaunchFailure);
  EXPECT_NE(text.find("another number of threads"), std::string::npos) << text;
  EXPECT_NE(text.find("cub_check_test.cu"), std::string::npos) << text;
}

}  // namespace

#else

TEST(CubCheck, IsNotPartOfTheAddressSanitizerBuild) {
  GTEST_SKIP() << "the race check and AddressSanitizer cannot be combined";
}

#endif
