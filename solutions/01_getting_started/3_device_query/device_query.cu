// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 01.3 device_query: what is this device, and how fast can its memory be?
// Edit:  this file, from TODO(1) to TODO(5). device_query.hpp says what belongs in a report.
// Run:   scripts/lab run 01.3
// Test:  scripts/lab test 01.3
// Hints: scripts/lab hint 01.3                  Chapter: docs/01_getting_started.md

#include <cuda_runtime.h>

#include "device_query.hpp"
#include "lab/cuda_check.hpp"
#include "lab/errors.hpp"

namespace lab::device_query {
namespace {

/// How many devices this process may use.
int count_devices() {
  // TODO(1): ask CUDA. Check what the call returns: CUDA_CHECK(…) throws when it is an error.
  // BEGIN SOLUTION
  // STUB: throw not_written("counting the devices", 1);
  int count = 0;
  CUDA_CHECK(cudaGetDeviceCount(&count));
  return count;
  // END SOLUTION
}

/// Throws invalid_input unless there is a device with this number.
void require_device(int device) {
  const int count = count_devices();
  // TODO(1): … and reject a number that no device has, before CUDA is asked about it.
  // BEGIN SOLUTION
  // STUB: throw not_written("refusing a device that is not there", 1);
  if (device < 0 || device >= count)
    throw invalid_input("device_query: there is no device " + std::to_string(device) +
                        "; this machine has " + std::to_string(count) + ", counted from 0");
  // END SOLUTION
}

// --- two ways to ask -----------------------------------------------------------------------------

/// One call fills a whole struct, cudaDeviceProp.
void add_properties(int device, report& out) {
  // TODO(2): fill in whatever the struct has. Look at each field's unit, and at what it is for: per
  //          block is not per multiprocessor.
  // BEGIN SOLUTION
  // STUB: throw not_written("reading the properties", 2);
  cudaDeviceProp properties{};
  CUDA_CHECK(cudaGetDeviceProperties(&properties, device));

  out.name = properties.name;
  out.compute_major = properties.major;
  out.compute_minor = properties.minor;
  out.pci_domain = properties.pciDomainID;
  out.pci_bus = properties.pciBusID;
  out.pci_device = properties.pciDeviceID;

  out.global_bytes = properties.totalGlobalMem;
  out.constant_bytes = properties.totalConstMem;
  out.l2_bytes = static_cast<std::size_t>(properties.l2CacheSize);
  out.memory_bus_bits = properties.memoryBusWidth;
  out.pitch_bytes = properties.memPitch;
  out.texture_alignment_bytes = properties.textureAlignment;

  out.multiprocessors = properties.multiProcessorCount;
  out.warp_size = properties.warpSize;
  out.threads_per_multiprocessor = properties.maxThreadsPerMultiProcessor;
  out.shared_bytes_per_multiprocessor = properties.sharedMemPerMultiprocessor;

  out.threads_per_block = properties.maxThreadsPerBlock;
  out.shared_bytes_per_block = properties.sharedMemPerBlock;
  out.registers_per_block = properties.regsPerBlock;
  for (std::size_t i = 0; i < 3; ++i) {
    out.block_dimensions[i] = properties.maxThreadsDim[i];
    out.grid_dimensions[i] = properties.maxGridSize[i];
  }

  out.copy_engines = properties.asyncEngineCount;
  out.concurrent_kernels = properties.concurrentKernels != 0;
  out.integrated = properties.integrated != 0;
  out.maps_host_memory = properties.canMapHostMemory != 0;
  // END SOLUTION
}

/// One call returns one attribute, always as an int. It is much faster if you need only one.
int attribute(cudaDeviceAttr attr, int device) {
  int value = 0;
  CUDA_CHECK(cudaDeviceGetAttribute(&value, attr, device));
  return value;
}

/// What CUDA 13 has removed from the struct.
void add_attributes(int device, report& out) {
  // TODO(3): both clocks, the time limit of kernels and the compute mode.
  // BEGIN SOLUTION
  // STUB: throw not_written("asking for attributes", 3);
  out.clock_khz = attribute(cudaDevAttrClockRate, device);
  out.memory_clock_khz = attribute(cudaDevAttrMemoryClockRate, device);
  out.kernel_timeout = attribute(cudaDevAttrKernelExecTimeout, device) != 0;
  out.compute_mode = attribute(cudaDevAttrComputeMode, device);
  // END SOLUTION
}

}  // namespace

// --- what follows from the answers ---------------------------------------------------------------

double theoretical_bandwidth(int memory_clock_khz, int memory_bus_bits) {
  // TODO(4): cycles per second, times two transfers a cycle, times the bytes of a transfer. How
  //          large does that become, and what is the largest int?
  // BEGIN SOLUTION
  // STUB: throw not_written("the bandwidth", 4);
  if (memory_clock_khz <= 0 || memory_bus_bits <= 0) return 0;
  const double cycles_per_second = 1000.0 * memory_clock_khz;
  const double bytes_per_transfer = memory_bus_bits / 8.0;
  return 2 * cycles_per_second * bytes_per_transfer;
  // END SOLUTION
}

report query(int device) {
  require_device(device);
  report out;
  out.device = device;
  add_properties(device, out);
  add_attributes(device, out);
  out.bandwidth = theoretical_bandwidth(out.memory_clock_khz, out.memory_bus_bits);
  return out;
}

std::vector<report> query_all() {
  const int count = count_devices();
  // TODO(5): a report of each device. You need not make any of them the current device for that.
  // BEGIN SOLUTION
  // STUB: throw not_written("the list of all reports", 5);
  std::vector<report> all;
  for (int device = 0; device < count; ++device) all.push_back(query(device));
  return all;
  // END SOLUTION
}

}  // namespace lab::device_query
