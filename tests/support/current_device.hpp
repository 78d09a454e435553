// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// For tests of several devices: one of them is current for a while, or all have to finish.
#pragma once

#include <cuda_runtime.h>

#include "lab/cuda_check.hpp"

namespace lab::testing {

/// Makes a device current, and the one that was when it ends.
class on_device {
 public:
  explicit on_device(int device) {
    CUDA_CHECK(cudaGetDevice(&before_));
    CUDA_CHECK(cudaSetDevice(device));
  }
  on_device(const on_device&) = delete;
  on_device& operator=(const on_device&) = delete;
  ~on_device() { CUDA_CHECK_NOTHROW(cudaSetDevice(before_)); }

 private:
  int before_ = 0;
};

inline int current_device() {
  int device = -1;
  CUDA_CHECK(cudaGetDevice(&device));
  return device;
}

/// Before a call that may fail: neither of two devices can access the memory of the other, and
/// device `b` is current. When cudaSetDevice fails, access that another device has enabled cannot
/// be disabled, so a case of faults does this at the beginning of each call.
inline void disable_access_between(int a, int b) {
  for (const int device : {a, b}) {
    CUDA_CHECK(cudaSetDevice(device));
    (void)cudaDeviceDisablePeerAccess(a + b - device);
    (void)cudaGetLastError();
  }
}

/// When it ends, all devices have finished their work. For work that writes into variables of a
/// test: however the test ends, none of it may come later.
class finish_before_the_end {
 public:
  finish_before_the_end() = default;
  finish_before_the_end(const finish_before_the_end&) = delete;
  finish_before_the_end& operator=(const finish_before_the_end&) = delete;
  ~finish_before_the_end() {
    int before = 0, count = 0;
    CUDA_CHECK_NOTHROW(cudaGetDevice(&before));
    CUDA_CHECK_NOTHROW(cudaGetDeviceCount(&count));
    for (int device = 0; device < count; ++device) {
      CUDA_CHECK_NOTHROW(cudaSetDevice(device));
      CUDA_CHECK_NOTHROW(cudaDeviceSynchronize());
    }
    CUDA_CHECK_NOTHROW(cudaSetDevice(before));
  }
};

}  // namespace lab::testing
