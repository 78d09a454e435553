// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// For tests of several chapters: several devices, one of them full, to see what is allocated there.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <vector>

#include "current_device.hpp"
#include "lab/cuda_check.hpp"
#include "lab/device_limits.hpp"
#include "lab_testing.hpp"

namespace lab::testing {

#ifdef __CPU_DEVICE__
// Devices that are soon full, and more than two of them (unless the user says how many).
inline const setting kSmall("CPU_DEVICE_MEMORY_MB", "16");
inline const setting kSeveral("CPU_DEVICE_COUNT", "3", setting::when::unless_given);
#endif

/// Elements of a vector that just fits into a full_device; two of them do not.
inline std::size_t size_that_fits_once() {
  return (lab::on_cpu_device() ? std::size_t{2} << 20 : std::size_t{32} << 20) / 4 * 3 /
         sizeof(float);
}

/// Occupies the memory of a device, except what size_that_fits_once() needs. The calling thread's
/// device stays what it was.
class full_device {
 public:
  explicit full_device(int device) {
    const on_device here(device);
    const std::size_t left = size_that_fits_once() * sizeof(float) / 3 * 4;
    const std::size_t smallest = left / 16;
    for (std::size_t chunk = std::size_t{1} << 40; chunk >= smallest; chunk /= 2) {
      for (;;) {
        std::size_t free_bytes = 0, total_bytes = 0;
        void* memory = nullptr;
        CUDA_CHECK(cudaMemGetInfo(&free_bytes, &total_bytes));
        if (free_bytes < left + chunk) break;
        if (cudaMalloc(&memory, chunk) != cudaSuccess) {
          (void)cudaGetLastError();
          break;
        }
        memory_.push_back(memory);
      }
    }
  }
  full_device(const full_device&) = delete;
  full_device& operator=(const full_device&) = delete;
  ~full_device() {
    for (void* memory : memory_) CUDA_CHECK_NOTHROW(cudaFree(memory));
  }

  /// Occupies so much of the rest, on the current device.
  void occupy(std::size_t bytes) {
    void* memory = nullptr;
    CUDA_CHECK(cudaMalloc(&memory, bytes));
    memory_.push_back(memory);
  }

 private:
  std::vector<void*> memory_;
};

}  // namespace lab::testing
