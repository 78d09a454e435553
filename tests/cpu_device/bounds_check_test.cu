// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// What the check build says about elements that are not there: the line, the thread and the
// element, for reads and writes, and before any talk of races.
// This file is compiled the way the check build compiles kernels.

#include <cpu_device.h>
#include <cuda_fp16.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <vector>

#include "cpu_device_testing.hpp"

#ifdef CPU_DEVICE_CHECK

namespace {

using cpu_device_testing::device_array;
using cpu_device_testing::expect_report;
using cpu_device_testing::in_every_order;

void expect_parts(const std::string& text, std::initializer_list<std::string> parts) {
  for (const std::string& part : parts)
    EXPECT_NE(text.find(part), std::string::npos) << "missing: " << part << "\nin: " << text;
}

template <class Body>
void expect_silence(Body body) {
  const std::size_t before = cpu_device::report_count();
  body();
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_EQ(cpu_device::report_count(), before) << cpu_device::last_report();
}

std::string at(int line) { return " at bounds_check_test.cu:" + std::to_string(line); }

constexpr int kAddLine = __LINE__ + 3;
__global__ void add(const int* in, int* out, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) out[i] = in[i] + 1;
}

TEST(Bounds, OfArraysOfEveryLengthAreKept) {
  in_every_order([] {
    for (const int n : {1, 31, 63, 64, 65, 1023, 1024, 1025, 16384, 16385, 1000007}) {
      SCOPED_TRACE(n);
      const device_array<int> in(static_cast<std::size_t>(n), 1);
      const device_array<int> out(static_cast<std::size_t>(n), 0);
      expect_silence(
          [&] { add<<<static_cast<unsigned>(n + 255) / 256, 256>>>(in.data(), out.data(), n); });
      EXPECT_EQ(out.to_host().back(), 2);
    }
  });
}

TEST(Bounds, OfAMissingGuardNameTheElement) {
  const device_array<int> in(1000007, 1), out(1000007, 0);
  const std::string text =
      expect_report([&] { add<<<1000007 / 256 + 1, 256>>>(in.data(), out.data(), 1000008); },
                    cudaErrorIllegalAddress);
  expect_parts(text, {"past the end: thread (71,0,0) reads element 1000007 of 1000007",
                      at(kAddLine), "device memory (3906.3 KiB", "if (i < n)",
                      "numbered from 0 to 1000006", "block (3906,0,0)", "kernel add"});
}

constexpr int kReadLine = __LINE__ + 4;
constexpr int kWriteLine = kReadLine + 1;
template <class T>
__global__ void touch(T* data, long index, bool write) {
  if (!write && data[index] == T{1}) data[0] = T{2};
  if (write) data[index] = T{};
}

TEST(Bounds, AreKeptByReadsAndWritesNearAndFar) {
  for (const bool write : {true, false}) {
    SCOPED_TRACE(write ? "writes" : "reads");
    const std::string does = write ? "writes " : "reads ";
    // In the same 256 bytes, and in the guard page.
    for (const long index : {1001L, 1023L, 1024L, 2047L}) {
      const device_array<int> data(1001, 0);
      expect_parts(
          expect_report([&] { touch<<<1, 1>>>(data.data(), index, write); },
                        cudaErrorIllegalAddress),
          {"past the end: thread (0,0,0) " + does + "element " + std::to_string(index) + " of 1001",
           at(write ? kWriteLine : kReadLine)});
    }
    for (const long index : {-1L, -400L}) {
      const device_array<double> data(500, 0);
      expect_parts(expect_report([&] { touch<<<1, 1>>>(data.data(), index, write); },
                                 cudaErrorIllegalAddress),
                   {"before the begin: thread (0,0,0) " + does + "element " +
                        std::to_string(index) + " of 500",
                    "becomes negative"});
    }
  }
}

TEST(Bounds, AreThoseOfManagedAndPinnedMemoryToo) {
  unsigned char* managed = nullptr;
  ASSERT_EQ(cudaMallocManaged(&managed, 5), cudaSuccess);
  expect_silence([&] { touch<<<1, 1>>>(managed, 4, true); });
  expect_parts(expect_report([&] { touch<<<1, 1>>>(managed, 5, true); }, cudaErrorIllegalAddress),
               {"writes element 5 of 5", "managed memory (5 bytes"});
  unsigned char* pinned = nullptr;
  ASSERT_EQ(cudaHostAlloc(&pinned, 5, cudaHostAllocMapped), cudaSuccess);
  expect_silence([&] { touch<<<1, 1>>>(pinned, 4, false); });
  expect_parts(expect_report([&] { touch<<<1, 1>>>(pinned, 5, false); }, cudaErrorIllegalAddress),
               {"reads element 5 of 5", "pinned host memory (5 bytes"});
  EXPECT_EQ(cudaFreeHost(pinned), cudaSuccess);
}

TEST(Bounds, OfPitchedRowsRecallThatAPitchCountsBytes) {
  int* rows = nullptr;
  std::size_t pitch = 0;
  ASSERT_EQ(cudaMallocPitch(&rows, &pitch, 100 * sizeof(int), 3), cudaSuccess);
  const auto second_row = static_cast<long>(pitch);
  expect_silence([&] { touch<<<1, 1>>>(rows, second_row / 4, true); });
  expect_parts(
      expect_report([&] { touch<<<1, 1>>>(rows, second_row, true); }, cudaErrorIllegalAddress),
      {"past the end: thread (0,0,0) writes element 512 of 384",
       "A pitch counts bytes: is it added to a char*"});
}

__global__ void count(int* counters, int index) { atomicAdd(&counters[index], 1); }

TEST(Bounds, AreKeptByAtomics) {
  const device_array<int> counters(3, 0);
  expect_silence([&] { count<<<4, 32>>>(counters.data(), 2); });
  expect_parts(expect_report([&] { count<<<1, 1>>>(counters.data(), 3); }, cudaErrorIllegalAddress),
               {"updates element 3 of 3"});
}

/// No guard in x: a thread right of the picture writes into the next row, which races, and one of
/// the last row writes past the end.
__global__ void paint(int width, int height, int* pixels) {
  const int x = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  const int y = static_cast<int>(blockIdx.y * blockDim.y + threadIdx.y);
  if (y < height) pixels[y * width + x] = y * width + x;
}

TEST(Bounds, ComeBeforeRaces) {
  in_every_order([] {
    const device_array<int> pixels(33 * 20, 0);
    const std::string text =
        expect_report([&] { paint<<<dim3(3, 2), dim3(16, 16)>>>(33, 20, pixels.data()); },
                      cudaErrorIllegalAddress);
    expect_parts(text, {"past the end: thread", " of 660", "if (i < n)"});
  });
}

__global__ void paint_row(int width, int* pixels) {
  const int x = static_cast<int>(threadIdx.x), y = static_cast<int>(blockIdx.x);
  if (y < 2) pixels[y * width + x] = 1;
}

TEST(Bounds, OfARowThatAreNotThoseOfTheArrayAreRacesWithTheRightAdvice) {
  const device_array<int> pixels(64, 0);
  const std::size_t before = cpu_device::report_count();
  paint_row<<<3, 32>>>(20, pixels.data());
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  ASSERT_EQ(cpu_device::report_count(), before + 1);
  expect_parts(cpu_device::last_report(), {"race on global memory", "is there a guard?"});
}

// --- shared memory and local arrays -------------------------------------------------------------

constexpr int kDynamicLine = __LINE__ + 3;
__global__ void use_dynamic(int index, int* out) {
  extern __shared__ int dynamic[];
  dynamic[index] = 1;
  out[0] = dynamic[index];
}

TEST(Bounds, OfDynamicSharedMemoryAreThoseOfTheLaunch) {
  for (const int elements : {1, 5, 16, 1000}) {
    for (const int index : {elements, elements + 3, elements + 500, -1}) {
      SCOPED_TRACE(index);
      const device_array<int> out(1, 0);
      expect_silence(
          [&] { use_dynamic<<<1, 1, elements * sizeof(int)>>>(elements - 1, out.data()); });
      expect_parts(
          expect_report([&] { use_dynamic<<<1, 1, elements * sizeof(int)>>>(index, out.data()); },
                        cudaErrorIllegalAddress),
          {"writes element " + std::to_string(index) + " of " + std::to_string(elements),
           at(kDynamicLine), "the dynamic shared memory", "third launch argument"});
    }
  }
}

constexpr int kCacheLine = __LINE__ + 4;
constexpr int kRowLine = kCacheLine + 2;
__global__ void use_static(int index, int column, int* out) {
  __shared__ int cache[24], rows[3][5];
  cache[index] = 1;
  __syncthreads();
  rows[1][column] = cache[index];
  out[0] = rows[1][column];
}

TEST(Bounds, OfArraysInStaticSharedMemoryAreKept) {
  const auto report_of = [](int index, int column) {
    const device_array<int> out(1, 0);
    expect_silence([&] { use_static<<<1, 1>>>(23, 4, out.data()); });
    return expect_report([&] { use_static<<<1, 1>>>(index, column, out.data()); },
                         cudaErrorIllegalAddress);
  };
  expect_parts(report_of(24, 0), {"past the end: thread (0,0,0) uses element 24 of 24",
                                  at(kCacheLine), "[24]'", "kernel use_static"});
  expect_parts(report_of(-1, 0), {"before the begin: thread (0,0,0) uses element -1 of 24"});
  expect_parts(report_of(0, 5), {"uses element 5 of 5", at(kRowLine)});
}

// --- ... through pointers -----------------------------------------------------------------------

constexpr int kStoreLine = __LINE__ + 2;
__device__ __noinline__ float sum_of_block(float* cache, float mine) {
  cache[threadIdx.x] = mine;
  __syncthreads();
  for (unsigned half = blockDim.x / 2; half != 0; half /= 2) {
    if (threadIdx.x < half) cache[threadIdx.x] += cache[threadIdx.x + half];
    __syncthreads();
  }
  return cache[0];
}

__global__ void sum(float* out) {
  __shared__ float cache[256];
  const float result = sum_of_block(cache, 1);
  if (threadIdx.x == 0) out[blockIdx.x] = result;
}

template <class Launch>
std::string report_of(Launch launch) {
  const device_array<float> out(3, 0);
  return expect_report([&] { launch(out.data()); }, cudaErrorIllegalAddress);
}

TEST(Bounds, OfStaticSharedMemoryAreKeptThroughPointers) {
  const device_array<float> out(3, 0);
  in_every_order([&] { expect_silence([&] { sum<<<3, 256>>>(out.data()); }); });
  EXPECT_EQ(out.to_host()[2], 256);
  const auto launch = [](float* sums) { sum<<<3, 512>>>(sums); };
  expect_parts(report_of(launch), {"past the end: thread (256,0,0) writes element 256 of 256",
                                   at(kStoreLine), "of the __shared__ variable cache (1024 bytes)",
                                   "numbered from 0 to 255", "kernel sum"});
  cpu_device::set_thread_order(cpu_device::thread_order::reverse);
  expect_parts(report_of(launch), {"thread (511,0,0) writes element 511 of 256", "variable cache"});
  cpu_device::set_thread_order(cpu_device::thread_order::forward);
}

__global__ void sum_twice(float* out) {
  __shared__ float first[256], second[256];
  const float result = sum_of_block(first, 1) + sum_of_block(second, 1);
  if (threadIdx.x == 0) out[blockIdx.x] = result;
}

template <int kElements>
__global__ void use_pointers(float* out, int a, int b) {
  __shared__ float first[kElements], second[kElements];
  __shared__ double third[kElements];
  for (int i = 0; i < kElements; ++i) first[i] = second[i] = 1, third[i] = 1;
  auto* pointer = second;
  auto* other = third;
  asm("" : "+r"(pointer), "+r"(other));  // the compiler knows no more what they point to
  out[0] = pointer[a];
  atomicAdd(other + b, 1.0);
}

// Of the two sums of sum_twice(), g++ chooses which comes first.
#ifdef __x86_64__
constexpr const char* kFirstOfTwo = "variable first";
#else
constexpr const char* kFirstOfTwo = "variable second";
#endif

TEST(Bounds, OfOneSharedVariableAreNotThoseOfTheNext) {
  const device_array<float> out(3, 0);
  expect_silence([&] {
    sum<<<3, 256>>>(out.data());
    sum_twice<<<3, 256>>>(out.data());
    use_pointers<64><<<1, 1>>>(out.data(), 63, 63);
    use_pointers<32><<<1, 1>>>(out.data(), 0, 0);
  });
  expect_parts(report_of([](float* sums) { sum_twice<<<3, 288>>>(sums); }),
               {"writes element 256 of 256", kFirstOfTwo});
  const auto report_at = [](int a, int b) {
    return report_of([&](float* to) { use_pointers<64><<<1, 1>>>(to, a, b); });
  };
  for (const int past : {0, 1})
    expect_parts(report_at(64 + past, 0),
                 {"reads element " + std::to_string(64 + past) + " of 64", "variable second"});
  expect_parts(report_at(0, 64), {"updates element 64 of 64", "variable third (512 bytes)"});
#ifdef __x86_64__  // where g++ puts the variables in this order, each behind the one before
  expect_parts(report_at(64 + 63, 0), {"reads element 127 of 64", "variable second"});
  expect_parts(report_at(-1, 0), {"element -1 of 64"});
#endif
}

struct pair_of_bytes {
  __device__ pair_of_bytes() {}
  unsigned char a, b;
};
__shared__ int outside_of_functions[32];
#define SHARED_IN_MACRO(name) __shared__ short name
__device__ void increment(int* value) { ++*value; }

/// Small ones in one word, ones with constructors, ones that the rewriter does not know of.
__global__ void use_odd_ones(int* out) {
  __shared__ bool a, b;
  __shared__ char text[5];
  __shared__ pair_of_bytes pairs[32];
  __shared__ __half halves[33];
  SHARED_IN_MACRO(hidden[33]);
  if (threadIdx.x == 0) a = b = true;
  if (threadIdx.x < 5) text[threadIdx.x] = 'x';
  pairs[threadIdx.x].b = 1;
  halves[threadIdx.x] = __float2half(1);
  hidden[threadIdx.x] = 1;
  outside_of_functions[threadIdx.x] = 1;
  increment(outside_of_functions + threadIdx.x);
  __syncthreads();
  if (a && b && text[4] == 'x' && pairs[31].b == 1 && hidden[31] == 1)
    atomicAdd(out, outside_of_functions[31] + static_cast<int>(__half2float(halves[31])));
}

TEST(Bounds, OfSharedVariablesOfAllKindsAreKnown) {
  const device_array<int> out(1, 0);
  in_every_order([&] { expect_silence([&] { use_odd_ones<<<70, 32>>>(out.data()); }); });
  EXPECT_EQ(out.to_host()[0] % (70 * 32 * 3), 0);
  EXPECT_NE(out.to_host()[0], 0);
}

__device__ int of_device[7];
__global__ void use_device(int index, int* out) {
  int local[3] = {1, 2, 3};
  if (index < 7) of_device[index] = 2;
  out[0] = local[index];
}

TEST(Bounds, OfLocalArraysAreKept) {
  const device_array<int> out(1, 0);
  expect_silence([&] { use_device<<<1, 1>>>(2, out.data()); });
  expect_parts(expect_report([&] { use_device<<<1, 1>>>(3, out.data()); }, cudaErrorIllegalAddress),
               {"uses element 3 of 3"});
}

__global__ void use_variable(int index, int* out) { out[0] = of_device[index]; }

TEST(Bounds, OfDeviceVariablesAreKept) {
  const device_array<int> out(1, 0);
  expect_silence([&] { use_variable<<<1, 1>>>(6, out.data()); });
  expect_parts(
      expect_report([&] { use_variable<<<1, 1>>>(7, out.data()); }, cudaErrorIllegalAddress),
      {"uses element 7 of 7"});
}

}  // namespace

#else

TEST(Bounds, OfTheCheckBuildAreNotPartOfTheAddressSanitizerBuild) {
  GTEST_SKIP() << "the check build and AddressSanitizer cannot be combined";
}

#endif
