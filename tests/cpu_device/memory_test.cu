// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// What only the CPU device does with memory: poisoned, counted, and guarded against copies that a
// GPU leaves undefined. The rest is in allocations_test.cu and copies_test.cu.

#include <cpu_device.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "cpu_device_testing.hpp"

namespace {

using cpu_device_testing::device_array;

TEST(Memory, IsPoisonedAtBirth) {
  for (const std::size_t bytes : {1, 255, 256, 257, 4096, 100000}) {
    unsigned char* p = nullptr;
    ASSERT_EQ(cudaMalloc(&p, bytes), cudaSuccess);
    std::vector<unsigned char> host(bytes, 0);
    ASSERT_EQ(cudaMemcpy(host.data(), p, bytes, cudaMemcpyDeviceToHost), cudaSuccess);
    EXPECT_EQ(host, std::vector<unsigned char>(bytes, 0xFF));
    EXPECT_EQ(cudaFree(p), cudaSuccess);
  }
}

TEST(Memory, HoldsTheByteThatWasChosen) {
  for (const unsigned char byte : {0x5A, 0x00, 0xFF}) {
    cpu_device::fill_new_memory_with(byte);
    std::uint32_t host = 1;
    std::uint32_t* p = nullptr;
    ASSERT_EQ(cudaMalloc(&p, sizeof *p), cudaSuccess);
    ASSERT_EQ(cudaMemcpy(&host, p, sizeof host, cudaMemcpyDeviceToHost), cudaSuccess);
    EXPECT_EQ(host, 0x01010101U * byte);
    EXPECT_EQ(cudaFree(p), cudaSuccess);
  }
}

TEST(Memory, OfImpossibleSizesIsRefused) {
  for (const std::size_t bytes : {SIZE_MAX / 2, SIZE_MAX}) {
    void* p = nullptr;
    EXPECT_EQ(cudaMalloc(&p, bytes), cudaErrorMemoryAllocation) << bytes;
    EXPECT_EQ(p, nullptr);
  }
  cudaGetLastError();
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

TEST(Copies, InTheWrongDirectionAreRefused) {
  std::vector<int> host(10, 1);
  const device_array<int> device(10, 2);
  EXPECT_EQ(cudaMemcpy(host.data(), device.data(), 40, cudaMemcpyHostToDevice),
            cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpy(device.data(), host.data(), 40, cudaMemcpyDeviceToHost),
            cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpy(device.data(), host.data(), 40, cudaMemcpyDeviceToDevice),
            cudaErrorInvalidValue);
  EXPECT_EQ(host, std::vector<int>(10, 1));
  EXPECT_EQ(device.to_host(), std::vector<int>(10, 2));
  cudaGetLastError();
}

__constant__ int by_constant[4];
__device__ int by_device;
__device__ int* pointer_by_device;

TEST(Symbols, AreNamedAndNotTheirAddresses) {
  int values[4] = {1, 2, 3, 4}, seen[4] = {};
  void* address = nullptr;
  EXPECT_EQ(cudaMemcpyToSymbol(&by_device, values, sizeof(int)), cudaErrorInvalidSymbol);
  EXPECT_EQ(cudaMemcpyToSymbol(&by_constant, values, sizeof values), cudaErrorInvalidSymbol);
  EXPECT_EQ(cudaMemcpyToSymbolAsync(&by_device, values, sizeof(int), 0, cudaMemcpyHostToDevice),
            cudaErrorInvalidSymbol);
  EXPECT_EQ(cudaMemcpyFromSymbol(seen, &by_constant, sizeof values, 0), cudaErrorInvalidSymbol);
  EXPECT_EQ(cudaGetSymbolAddress(&address, &by_device), cudaErrorInvalidSymbol);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidSymbol);
  EXPECT_EQ(cudaMemcpyToSymbol(by_constant, values, sizeof values), cudaSuccess);
  EXPECT_EQ(cudaMemcpyFromSymbol(seen, by_constant, sizeof values), cudaSuccess);
  EXPECT_EQ(seen[3], 4);
  int* pointer = values;  // a variable that is a pointer is a variable
  EXPECT_EQ(cudaMemcpyToSymbol(pointer_by_device, &pointer, sizeof pointer), cudaSuccess);
  EXPECT_EQ(cudaGetSymbolAddress(&address, pointer_by_device), cudaSuccess);
  EXPECT_EQ(address, &pointer_by_device);
}

TEST(Copies, BeyondAnAllocationAreRefused) {
  std::vector<int> host(20, 1);
  const device_array<int> device(10, 2);
  EXPECT_EQ(cudaMemcpy(device.data(), host.data(), 41, cudaMemcpyHostToDevice),
            cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpy(device.data() + 5, host.data(), 24, cudaMemcpyHostToDevice),
            cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpy(host.data(), nullptr, 4, cudaMemcpyDeviceToHost), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemset(device.data(), 0, 41), cudaErrorInvalidValue);
  cudaGetLastError();
}

}  // namespace
