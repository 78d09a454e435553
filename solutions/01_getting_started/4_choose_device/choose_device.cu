// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 01.4 choose_device: which of the devices is the best one for this program?
// Edit:  this file, from TODO(1) to TODO(4). choose_device.hpp has the rule.
// Run:   scripts/lab run 01.4 -- --memory 4G
// Test:  scripts/lab test 01.4
// Hints: scripts/lab hint 01.4                  Chapter: docs/01_getting_started.md

#include <cuda_runtime.h>

#include "given.hpp"

namespace lab::choose_device {

std::vector<candidate> list_candidates() {
  std::vector<candidate> list;
  for (int device = 0; device < count_devices(); ++device) {
    // TODO(1): add this device's facts. The clock and the compute mode are attributes (as in 01.3);
    //          the size of the memory is not.
    // BEGIN SOLUTION
    // STUB: throw not_written("listing the devices", 1);
    cudaDeviceProp properties{};
    CUDA_CHECK(cudaGetDeviceProperties(&properties, device));
    list.push_back({.device = device,
                    .compute_major = properties.major,
                    .compute_minor = properties.minor,
                    .global_bytes = properties.totalGlobalMem,
                    .multiprocessors = properties.multiProcessorCount,
                    .clock_khz = attribute(cudaDevAttrClockRate, device),
                    .compute_mode = attribute(cudaDevAttrComputeMode, device)});
    // END SOLUTION
  }
  return list;
}

// --- the rule: no CUDA call in it, so that it can be tested on imaginary devices -----------------

namespace {

/// Part 1 of the rule: may this one be taken at all?
bool suits(const candidate& one, const requirement& needed) {
  // TODO(2): it has the compute capability, it has the memory, and it lets us in. Of two versions
  //          the part before the point decides; only where it is equal, the part after.
  // BEGIN SOLUTION
  // STUB: throw not_written("part 1 of the rule", 2);
  const bool capable = one.compute_major != needed.compute_major
                           ? one.compute_major > needed.compute_major
                           : one.compute_minor >= needed.compute_minor;
  return capable && one.global_bytes >= needed.global_bytes &&
         one.compute_mode != cudaComputeModeProhibited;
  // END SOLUTION
}

/// Parts 2 and 3: is `one` the better choice?
bool better(const candidate& one, const candidate& other) {
  // TODO(3): compare multiprocessors * clock_khz, then the memory, then the numbers. Invariant: of
  //          two different devices exactly one is better, so the order of the list does not matter.
  //          How large does the product become, and what is the largest int?
  // BEGIN SOLUTION
  // STUB: throw not_written("part 2 of the rule", 3);
  const auto strength = std::int64_t{one.multiprocessors} * one.clock_khz;
  const auto other_strength = std::int64_t{other.multiprocessors} * other.clock_khz;
  if (strength != other_strength) return strength > other_strength;
  if (one.global_bytes != other.global_bytes) return one.global_bytes > other.global_bytes;
  return one.device < other.device;
  // END SOLUTION
}

}  // namespace

std::optional<int> best(std::span<const candidate> list, const requirement& needed) {
  // TODO(3): … and go through the list with both.
  // BEGIN SOLUTION
  // STUB: throw not_written("choosing the best", 2);  // 2 and 3 are the rule
  const candidate* chosen = nullptr;
  for (const candidate& one : list)
    if (suits(one, needed) && (chosen == nullptr || better(one, *chosen))) chosen = &one;
  if (chosen == nullptr) return std::nullopt;
  return chosen->device;
  // END SOLUTION
}

// --- the choice takes effect ---------------------------------------------------------------------

int select(int device) {
  require_device(device);
  // TODO(4): make it the current device. Then ask CUDA for the current device, and return that.
  // BEGIN SOLUTION
  // STUB: throw not_written("selecting a device", 4);
  CUDA_CHECK(cudaSetDevice(device));
  int current = -1;
  CUDA_CHECK(cudaGetDevice(&current));
  return current;
  // END SOLUTION
}

}  // namespace lab::choose_device
