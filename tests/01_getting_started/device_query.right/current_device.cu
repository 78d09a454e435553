// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Differs from the solution: each device becomes the current one while it is asked, and a
// destructor goes back; all facts but the name and the size of the memory are attributes.

// So that CUDA_CHECK's __FILE__ is that of the file which this one replaces:
#line 10 "device_query.cu"

#include <cuda_runtime.h>

#include <cstddef>
#include <string>
#include <vector>

#include "device_query.hpp"
#include "lab/cuda_check.hpp"
#include "lab/errors.hpp"
#include "lab/keep_current_device.hpp"

namespace lab::device_query {
namespace {

int count_devices() {
  int count = 0;
  CUDA_CHECK(cudaGetDeviceCount(&count));
  return count;
}

int current_device() {
  int device = -1;
  CUDA_CHECK(cudaGetDevice(&device));
  return device;
}

int number(cudaDeviceAttr attribute) {
  int value = 0;
  CUDA_CHECK(cudaDeviceGetAttribute(&value, attribute, current_device()));
  return value;
}
std::size_t bytes(cudaDeviceAttr attribute) { return static_cast<std::size_t>(number(attribute)); }
bool can(cudaDeviceAttr attribute) { return number(attribute) != 0; }

}  // namespace

double theoretical_bandwidth(int memory_clock_khz, int memory_bus_bits) {
  if (memory_clock_khz <= 0 || memory_bus_bits <= 0) return 0;
  return 250.0 * memory_clock_khz * memory_bus_bits;  // 2 transfers, 1000 Hz, 8 bits
}

report query(int device) {
  if (device < 0 || device >= count_devices())
    throw invalid_input("device_query: there is no device " + std::to_string(device));
  const keep_current_device keep;
  CUDA_CHECK(cudaSetDevice(device));
  cudaDeviceProp properties{};
  CUDA_CHECK(cudaGetDeviceProperties(&properties, device));
  const int clock = number(cudaDevAttrMemoryClockRate);
  const int width = number(cudaDevAttrGlobalMemoryBusWidth);
  return {.device = device,
          .name = properties.name,
          .compute_major = number(cudaDevAttrComputeCapabilityMajor),
          .compute_minor = number(cudaDevAttrComputeCapabilityMinor),
          .pci_domain = number(cudaDevAttrPciDomainId),
          .pci_bus = number(cudaDevAttrPciBusId),
          .pci_device = number(cudaDevAttrPciDeviceId),
          .global_bytes = properties.totalGlobalMem,
          .constant_bytes = bytes(cudaDevAttrTotalConstantMemory),
          .l2_bytes = bytes(cudaDevAttrL2CacheSize),
          .memory_clock_khz = clock,
          .memory_bus_bits = width,
          .bandwidth = theoretical_bandwidth(clock, width),
          .pitch_bytes = bytes(cudaDevAttrMaxPitch),
          .texture_alignment_bytes = bytes(cudaDevAttrTextureAlignment),
          .multiprocessors = number(cudaDevAttrMultiProcessorCount),
          .clock_khz = number(cudaDevAttrClockRate),
          .warp_size = number(cudaDevAttrWarpSize),
          .threads_per_multiprocessor = number(cudaDevAttrMaxThreadsPerMultiProcessor),
          .shared_bytes_per_multiprocessor = bytes(cudaDevAttrMaxSharedMemoryPerMultiprocessor),
          .threads_per_block = number(cudaDevAttrMaxThreadsPerBlock),
          .shared_bytes_per_block = bytes(cudaDevAttrMaxSharedMemoryPerBlock),
          .registers_per_block = number(cudaDevAttrMaxRegistersPerBlock),
          .block_dimensions = {number(cudaDevAttrMaxBlockDimX), number(cudaDevAttrMaxBlockDimY),
                               number(cudaDevAttrMaxBlockDimZ)},
          .grid_dimensions = {number(cudaDevAttrMaxGridDimX), number(cudaDevAttrMaxGridDimY),
                              number(cudaDevAttrMaxGridDimZ)},
          .copy_engines = number(cudaDevAttrAsyncEngineCount),
          .concurrent_kernels = can(cudaDevAttrConcurrentKernels),
          .kernel_timeout = can(cudaDevAttrKernelExecTimeout),
          .integrated = can(cudaDevAttrIntegrated),
          .maps_host_memory = can(cudaDevAttrCanMapHostMemory),
          .compute_mode = number(cudaDevAttrComputeMode)};
}

std::vector<report> query_all() {
  const int count = count_devices();
  std::vector<report> all;
  while (static_cast<int>(all.size()) < count) all.push_back(query(static_cast<int>(all.size())));
  return all;
}

}  // namespace lab::device_query
