// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// The current device of the caller, for the exercises after 12.2, which teaches it.
#pragma once

#include <cuda_runtime.h>

#include "lab/cuda_check.hpp"

namespace lab {

/// While it lives, the current device may be changed; then it is what it was. Throws cuda_error if
/// CUDA does not say which one it is.
class keep_current_device {
 public:
  keep_current_device() { CUDA_CHECK(cudaGetDevice(&device_)); }
  ~keep_current_device() { CUDA_CHECK_NOTHROW(cudaSetDevice(device_)); }
  keep_current_device(const keep_current_device&) = delete;
  keep_current_device& operator=(const keep_current_device&) = delete;

 private:
  int device_ = 0;
};

}  // namespace lab
