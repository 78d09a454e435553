// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 01.4 choose_device: which of the devices is the best one for this program?
// Edit:  this nearly empty file: TODO(1) to TODO(3). choose_device.hpp has the rule.
// Run:   scripts/lab run 01.4 -- --memory 4G
// Test:  scripts/lab test 01.4
// Hints: scripts/lab hint 01.4                  Chapter: docs/01_getting_started.md

#include <cuda_runtime.h>

#include "given.hpp"

namespace lab::choose_device {

std::vector<candidate> list_candidates() {
  // TODO(1): the facts of each device, in the order of their numbers. count_devices() and
  //          attribute() of given.hpp are those of 01.3. The clock and the compute mode are
  //          attributes; the size of the memory is not.
  // BEGIN SOLUTION
  // STUB: throw not_written("listing the devices", 1);
  std::vector<candidate> list;
  for (int device = 0; device < count_devices(); ++device) {
    cudaDeviceProp properties{};
    CUDA_CHECK(cudaGetDeviceProperties(&properties, device));
    list.push_back({.device = device,
                    .compute_major = properties.major,
                    .compute_minor = properties.minor,
                    .global_bytes = properties.totalGlobalMem,
                    .multiprocessors = properties.multiProcessorCount,
                    .clock_khz = attribute(cudaDevAttrClockRate, device),
                    .compute_mode = attribute(cudaDevAttrComputeMode, device)});
  }
  return list;
  // END SOLUTION
}

// BEGIN SOLUTION
namespace {

/// Part 1 of the rule: may this one be taken at all?
bool suits(const candidate& one, const requirement& needed) {
  const bool capable = one.compute_major != needed.compute_major
                           ? one.compute_major > needed.compute_major
                           : one.compute_minor >= needed.compute_minor;
  return capable && one.global_bytes >= needed.global_bytes &&
         one.compute_mode != cudaComputeModeProhibited;
}

/// Parts 2 and 3: is `one` the better choice?
bool better(const candidate& one, const candidate& other) {
  const auto strength = std::int64_t{one.multiprocessors} * one.clock_khz;
  const auto other_strength = std::int64_t{other.multiprocessors} * other.clock_khz;
  if (strength != other_strength) return strength > other_strength;
  if (one.global_bytes != other.global_bytes) return one.global_bytes > other.global_bytes;
  return one.device < other.device;
}

}  // namespace
// END SOLUTION

std::optional<int> best(std::span<const candidate> list, const requirement& needed) {
  // TODO(2): the rule, without any call of CUDA. Of two versions the part before the point decides;
  //          only where it is equal, the part after. Invariant: of two different devices exactly
  //          one is better, so the order of the list does not matter. How large does the product
  //          become, and what is the largest int?
  // BEGIN SOLUTION
  // STUB: throw not_written("choosing the best", 2);
  const candidate* chosen = nullptr;
  for (const candidate& one : list)
    if (suits(one, needed) && (chosen == nullptr || better(one, *chosen))) chosen = &one;
  if (chosen == nullptr) return std::nullopt;
  return chosen->device;
  // END SOLUTION
}

int select(int device) {
  // TODO(3): require_device() of given.hpp rejects what the contract rejects. Make the device the
  //          current one. Then ask CUDA for the current device, and return that.
  // BEGIN SOLUTION
  // STUB: throw not_written("selecting a device", 3);
  require_device(device);
  CUDA_CHECK(cudaSetDevice(device));
  int current = -1;
  CUDA_CHECK(cudaGetDevice(&current));
  return current;
  // END SOLUTION
}

}  // namespace lab::choose_device
