// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 01.3 device_query: what the reports are compared with.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <type_traits>
#include <vector>

#include "device_query.hpp"
#include "lab/closeness.hpp"
#include "lab/cuda_check.hpp"

namespace lab::device_query {

/// 2 * 1000 * clock * width / 8 in whole numbers: two ints have a product below 2^62, and
/// 2 * 1000 / 8 is 250. 0 for what is unknown.
inline double reference_bandwidth(int memory_clock_khz, int memory_bus_bits) {
  if (memory_clock_khz <= 0 || memory_bus_bits <= 0) return 0;
  const std::uint64_t product = std::uint64_t{static_cast<unsigned>(memory_clock_khz)} *
                                static_cast<unsigned>(memory_bus_bits);
  return static_cast<double>(product) * 250;
}

/// The runtime's own answers, one attribute at a time. Only what has no attribute (or has one that
/// is not everywhere) comes from the property struct.
inline report reference(int device) {
  const auto ask = [device](cudaDeviceAttr attr) {
    int value = 0;
    CUDA_CHECK(cudaDeviceGetAttribute(&value, attr, device));
    return value;
  };
  const auto ask_bytes = [ask](cudaDeviceAttr attr) { return static_cast<std::size_t>(ask(attr)); };
  cudaDeviceProp properties{};
  CUDA_CHECK(cudaGetDeviceProperties(&properties, device));

  report out;
  out.device = device;
  out.name = properties.name;
  out.compute_major = ask(cudaDevAttrComputeCapabilityMajor);
  out.compute_minor = ask(cudaDevAttrComputeCapabilityMinor);
  out.pci_domain = properties.pciDomainID;
  out.pci_bus = properties.pciBusID;
  out.pci_device = properties.pciDeviceID;
  out.global_bytes = properties.totalGlobalMem;
  out.constant_bytes = ask_bytes(cudaDevAttrTotalConstantMemory);
  out.l2_bytes = ask_bytes(cudaDevAttrL2CacheSize);
  out.memory_clock_khz = ask(cudaDevAttrMemoryClockRate);
  out.memory_bus_bits = ask(cudaDevAttrGlobalMemoryBusWidth);
  out.bandwidth = reference_bandwidth(out.memory_clock_khz, out.memory_bus_bits);
  out.pitch_bytes = ask_bytes(cudaDevAttrMaxPitch);
  out.texture_alignment_bytes = ask_bytes(cudaDevAttrTextureAlignment);
  out.multiprocessors = ask(cudaDevAttrMultiProcessorCount);
  out.clock_khz = ask(cudaDevAttrClockRate);
  out.warp_size = ask(cudaDevAttrWarpSize);
  out.threads_per_multiprocessor = ask(cudaDevAttrMaxThreadsPerMultiProcessor);
  out.shared_bytes_per_multiprocessor = ask_bytes(cudaDevAttrMaxSharedMemoryPerMultiprocessor);
  out.threads_per_block = ask(cudaDevAttrMaxThreadsPerBlock);
  out.shared_bytes_per_block = ask_bytes(cudaDevAttrMaxSharedMemoryPerBlock);
  out.registers_per_block = ask(cudaDevAttrMaxRegistersPerBlock);
  out.block_dimensions = {ask(cudaDevAttrMaxBlockDimX), ask(cudaDevAttrMaxBlockDimY),
                          ask(cudaDevAttrMaxBlockDimZ)};
  out.grid_dimensions = {ask(cudaDevAttrMaxGridDimX), ask(cudaDevAttrMaxGridDimY),
                         ask(cudaDevAttrMaxGridDimZ)};
  out.copy_engines = ask(cudaDevAttrAsyncEngineCount);
  out.concurrent_kernels = ask(cudaDevAttrConcurrentKernels) != 0;
  out.kernel_timeout = ask(cudaDevAttrKernelExecTimeout) != 0;
  out.integrated = ask(cudaDevAttrIntegrated) != 0;
  out.maps_host_memory = ask(cudaDevAttrCanMapHostMemory) != 0;
  out.compute_mode = ask(cudaDevAttrComputeMode);
  return out;
}

/// A field of a report as text, to compare it and to name it.
struct field {
  std::string name;
  std::string value;
};

inline std::vector<field> fields(const report& of) {
  std::vector<field> all;
  const auto add = [&all]<class Value>(const char* name, const Value& value) {
    if constexpr (std::is_same_v<Value, std::string>) {
      all.push_back({name, value});
    } else if constexpr (std::is_same_v<Value, bool>) {
      all.push_back({name, value ? "true" : "false"});
    } else if constexpr (std::is_same_v<Value, double>) {
      char text[32];  // a whole number of at most 15 digits: a double's roundings come after them
      std::snprintf(text, sizeof text, "%.15g", value);
      all.push_back({name, text});
    } else if constexpr (std::is_arithmetic_v<Value>) {
      all.push_back({name, std::to_string(value)});
    } else {
      all.push_back({name, std::to_string(value[0]) + " x " + std::to_string(value[1]) + " x " +
                               std::to_string(value[2])});
    }
  };
  add("device", of.device);
  add("name", of.name);
  add("compute_major", of.compute_major);
  add("compute_minor", of.compute_minor);
  add("pci_domain", of.pci_domain);
  add("pci_bus", of.pci_bus);
  add("pci_device", of.pci_device);
  add("global_bytes", of.global_bytes);
  add("constant_bytes", of.constant_bytes);
  add("l2_bytes", of.l2_bytes);
  add("memory_clock_khz", of.memory_clock_khz);
  add("memory_bus_bits", of.memory_bus_bits);
  add("bandwidth", of.bandwidth);
  add("pitch_bytes", of.pitch_bytes);
  add("texture_alignment_bytes", of.texture_alignment_bytes);
  add("multiprocessors", of.multiprocessors);
  add("clock_khz", of.clock_khz);
  add("warp_size", of.warp_size);
  add("threads_per_multiprocessor", of.threads_per_multiprocessor);
  add("shared_bytes_per_multiprocessor", of.shared_bytes_per_multiprocessor);
  add("threads_per_block", of.threads_per_block);
  add("shared_bytes_per_block", of.shared_bytes_per_block);
  add("registers_per_block", of.registers_per_block);
  add("block_dimensions", of.block_dimensions);
  add("grid_dimensions", of.grid_dimensions);
  add("copy_engines", of.copy_engines);
  add("concurrent_kernels", of.concurrent_kernels);
  add("kernel_timeout", of.kernel_timeout);
  add("integrated", of.integrated);
  add("maps_host_memory", of.maps_host_memory);
  add("compute_mode", of.compute_mode);
  return all;
}

/// Compares two reports field by field; names the first that differs.
inline comparison check(const report& actual, const report& expected) {
  const auto got = fields(actual), wanted = fields(expected);
  for (std::size_t i = 0; i < wanted.size(); ++i)
    if (got[i].value != wanted[i].value)
      return {false, "device " + std::to_string(expected.device) + ": " + wanted[i].name + " is " +
                         got[i].value + ", and CUDA says " + wanted[i].value};
  return {true, "all " + std::to_string(wanted.size()) + " fields match"};
}

/// Compares the reports with those of all devices that CUDA counts.
inline comparison check(const std::vector<report>& actual) {
  int count = 0;
  CUDA_CHECK(cudaGetDeviceCount(&count));
  if (actual.size() != static_cast<std::size_t>(count))
    return {false, "there are " + std::to_string(actual.size()) + " reports, and CUDA counts " +
                       std::to_string(count) + (count == 1 ? " device" : " devices")};
  for (int device = 0; device < count; ++device)
    if (auto one = check(actual[static_cast<std::size_t>(device)], reference(device)); !one)
      return one;
  return {true, "CUDA says the same in another way, about " + std::to_string(count) +
                    (count == 1 ? " device" : " devices")};
}

}  // namespace lab::device_query
