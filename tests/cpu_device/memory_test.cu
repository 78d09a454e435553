// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Memory of the CPU device: what is given, what is copied, and what is refused.

#include <cpu_device.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "cpu_device_testing.hpp"

namespace {

using cpu_device_testing::device_array;

TEST(Memory, IsAlignedTo256BytesAndPoisoned) {
  for (const std::size_t bytes : {1, 255, 256, 257, 4096, 100000}) {
    unsigned char* p = nullptr;
    ASSERT_EQ(cudaMalloc(&p, bytes), cudaSuccess);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(p) % 256, 0U);
    std::vector<unsigned char> host(bytes, 0);
    ASSERT_EQ(cudaMemcpy(host.data(), p, bytes, cudaMemcpyDeviceToHost), cudaSuccess);
    EXPECT_EQ(host, std::vector<unsigned char>(bytes, 0xFF));
    EXPECT_EQ(cudaFree(p), cudaSuccess);
  }
}

TEST(Memory, OfZeroBytesIsANullPointer) {
  void* p = &p;
  EXPECT_EQ(cudaMalloc(&p, 0), cudaSuccess);
  EXPECT_EQ(p, nullptr);
  EXPECT_EQ(cudaFree(p), cudaSuccess);
}

TEST(Memory, ThatDoesNotFitIsRefusedAndTheProgramGoesOn) {
  std::size_t free_bytes = 0, total = 0;
  ASSERT_EQ(cudaMemGetInfo(&free_bytes, &total), cudaSuccess);
  EXPECT_LE(free_bytes, total);
  for (const std::size_t bytes : {total + 1, SIZE_MAX / 2, SIZE_MAX}) {
    void* p = nullptr;
    EXPECT_EQ(cudaMalloc(&p, bytes), cudaErrorMemoryAllocation) << bytes;
    EXPECT_EQ(p, nullptr);
  }
  EXPECT_EQ(cudaGetLastError(), cudaErrorMemoryAllocation);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  const device_array<int> works(10, 1);
  EXPECT_EQ(works.to_host()[9], 1);
}

TEST(Memory, InUseIsCounted) {
  std::size_t before = 0, during = 0, after = 0, total = 0;
  ASSERT_EQ(cudaMemGetInfo(&before, &total), cudaSuccess);
  const std::size_t allocations = cpu_device::live_allocations();
  {
    const device_array<char> one(1000, 0), two(5000, 0);
    ASSERT_EQ(cudaMemGetInfo(&during, &total), cudaSuccess);
    EXPECT_EQ(cpu_device::live_allocations(), allocations + 2);
  }
  ASSERT_EQ(cudaMemGetInfo(&after, &total), cudaSuccess);
  EXPECT_EQ(before - during, 6000U);
  EXPECT_EQ(after, before);
  EXPECT_EQ(cpu_device::live_allocations(), allocations);
}

TEST(Memory, IsFreedOnceByItsOwnFunction) {
  int* device = nullptr;
  int* pinned = nullptr;
  ASSERT_EQ(cudaMalloc(&device, 64), cudaSuccess);
  ASSERT_EQ(cudaMallocHost(&pinned, 64), cudaSuccess);
  EXPECT_EQ(cudaFree(device + 1), cudaErrorInvalidValue);
  EXPECT_EQ(cudaFree(pinned), cudaErrorInvalidValue);
  EXPECT_EQ(cudaFreeHost(device), cudaErrorInvalidValue);
  int on_the_stack = 0;
  EXPECT_EQ(cudaFree(&on_the_stack), cudaErrorInvalidValue);
  EXPECT_EQ(cudaFree(device), cudaSuccess);
  EXPECT_EQ(cudaFree(device), cudaErrorInvalidValue);
  EXPECT_EQ(cudaFreeHost(pinned), cudaSuccess);
  EXPECT_EQ(cudaFree(nullptr), cudaSuccess);
  EXPECT_EQ(cudaFreeHost(nullptr), cudaSuccess);
  cudaGetLastError();
}

TEST(Copies, GoInEveryDirection) {
  std::vector<int> from(1000), to(1000, 0);
  std::iota(from.begin(), from.end(), 5);
  const device_array<int> a(1000, 0), b(1000, 0);
  const std::size_t bytes = from.size() * sizeof(int);
  ASSERT_EQ(cudaMemcpy(a.data(), from.data(), bytes, cudaMemcpyHostToDevice), cudaSuccess);
  ASSERT_EQ(cudaMemcpy(b.data(), a.data(), bytes, cudaMemcpyDeviceToDevice), cudaSuccess);
  ASSERT_EQ(cudaMemcpy(to.data(), b.data(), bytes, cudaMemcpyDefault), cudaSuccess);
  EXPECT_EQ(to, from);
}

TEST(Copies, InTheWrongDirectionAreRefused) {
  std::vector<int> host(10, 1);
  const device_array<int> device(10, 2);
  EXPECT_EQ(cudaMemcpy(host.data(), device.data(), 40, cudaMemcpyHostToDevice),
            cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpy(device.data(), host.data(), 40, cudaMemcpyDeviceToHost),
            cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpy(device.data(), host.data(), 40, cudaMemcpyDeviceToDevice),
            cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpy(device.data(), host.data(), 40, static_cast<cudaMemcpyKind>(9)),
            cudaErrorInvalidMemcpyDirection);
  EXPECT_EQ(host, std::vector<int>(10, 1));
  EXPECT_EQ(device.to_host(), std::vector<int>(10, 2));
  cudaGetLastError();
}

TEST(Copies, BeyondAnAllocationAreRefused) {
  std::vector<int> host(20, 1);
  const device_array<int> device(10, 2);
  EXPECT_EQ(cudaMemcpy(device.data(), host.data(), 41, cudaMemcpyHostToDevice),
            cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpy(device.data() + 5, host.data(), 24, cudaMemcpyHostToDevice),
            cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpy(host.data(), nullptr, 4, cudaMemcpyDeviceToHost), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpy(device.data(), host.data(), 0, cudaMemcpyHostToDevice), cudaSuccess);
  cudaGetLastError();
}

TEST(Copies, OfRowsRespectBothPitches) {
  constexpr std::size_t kWidth = 5, kHeight = 4;
  std::vector<int> from(kWidth * kHeight), to(kWidth * kHeight, -1);
  std::iota(from.begin(), from.end(), 0);
  int* device = nullptr;
  std::size_t pitch = 0;
  ASSERT_EQ(cudaMallocPitch(&device, &pitch, kWidth * sizeof(int), kHeight), cudaSuccess);
  EXPECT_GE(pitch, kWidth * sizeof(int));
  const std::size_t row = kWidth * sizeof(int);
  ASSERT_EQ(cudaMemcpy2D(device, pitch, from.data(), row, row, kHeight, cudaMemcpyHostToDevice),
            cudaSuccess);
  ASSERT_EQ(cudaMemcpy2D(to.data(), row, device, pitch, row, kHeight, cudaMemcpyDeviceToHost),
            cudaSuccess);
  EXPECT_EQ(to, from);
  EXPECT_EQ(cudaMemcpy2D(device, row - 1, from.data(), row, row, kHeight, cudaMemcpyHostToDevice),
            cudaErrorInvalidPitchValue);
  EXPECT_EQ(cudaFree(device), cudaSuccess);
  cudaGetLastError();
}

TEST(Memset, FillsBytes) {
  const device_array<int> device(10, 0);
  ASSERT_EQ(cudaMemset(device.data() + 1, 0x01, 8 * sizeof(int)), cudaSuccess);
  std::vector<int> expected(10, 0x01010101);
  expected.front() = expected.back() = 0;
  EXPECT_EQ(device.to_host(), expected);
  EXPECT_EQ(cudaMemset(device.data(), 0, 41), cudaErrorInvalidValue);
  cudaGetLastError();
}

__constant__ int factor;
__constant__ float table[4];
__global__ void scale(int* data) { data[threadIdx.x] *= factor + static_cast<int>(table[1]); }

TEST(Symbols, CarryValuesIntoKernels) {
  const device_array<int> data(8, 3);
  for (const int value : {2, 10}) {
    const float more[4] = {0, 5, 0, 0};
    ASSERT_EQ(cudaMemcpyToSymbol(factor, &value, sizeof value), cudaSuccess);
    ASSERT_EQ(cudaMemcpyToSymbol(table, more, sizeof more), cudaSuccess);
    int back = 0;
    ASSERT_EQ(cudaMemcpyFromSymbol(&back, factor, sizeof back), cudaSuccess);
    EXPECT_EQ(back, value);
    scale<<<1, 8>>>(data.data());
  }
  EXPECT_EQ(data.to_host(), std::vector<int>(8, 3 * 7 * 15));
  EXPECT_EQ(cudaMemcpyToSymbol(factor, table, 8), cudaErrorInvalidValue);
  cudaGetLastError();
}

TEST(Pointers, TellWhatTheyPointTo) {
  const device_array<int> device(4, 0);
  int* pinned = nullptr;
  int* managed = nullptr;
  ASSERT_EQ(cudaHostAlloc(&pinned, 64, cudaHostAllocMapped), cudaSuccess);
  ASSERT_EQ(cudaMallocManaged(&managed, 64), cudaSuccess);
  int local = 0;
  const auto type = [](const void* p) {
    cudaPointerAttributes attributes{};
    EXPECT_EQ(cudaPointerGetAttributes(&attributes, p), cudaSuccess);
    return attributes.type;
  };
  EXPECT_EQ(type(device.data() + 1), cudaMemoryTypeDevice);
  EXPECT_EQ(type(pinned), cudaMemoryTypeHost);
  EXPECT_EQ(type(managed), cudaMemoryTypeManaged);
  EXPECT_EQ(type(&local), cudaMemoryTypeUnregistered);
  int* mapped = nullptr;
  EXPECT_EQ(cudaHostGetDevicePointer(&mapped, pinned, 0), cudaSuccess);
  EXPECT_EQ(mapped, pinned);
  EXPECT_EQ(cudaHostGetDevicePointer(&mapped, &local, 0), cudaErrorInvalidValue);
  EXPECT_EQ(cudaFreeHost(pinned), cudaSuccess);
  EXPECT_EQ(cudaFree(managed), cudaSuccess);
  cudaGetLastError();
}

}  // namespace
