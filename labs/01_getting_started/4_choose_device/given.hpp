// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 01.4 choose_device: what choose_device.cu starts from. There is nothing to do in here.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <string>

#include "choose_device.hpp"
#include "lab/cuda_check.hpp"
#include "lab/errors.hpp"

namespace lab::choose_device {

// As in 01.3.

inline int count_devices() {
  int count = 0;
  CUDA_CHECK(cudaGetDeviceCount(&count));
  return count;
}

inline int attribute(cudaDeviceAttr attr, int device) {
  int value = 0;
  CUDA_CHECK(cudaDeviceGetAttribute(&value, attr, device));
  return value;
}

inline void require_device(int device) {
  const int count = count_devices();
  if (device < 0 || device >= count)
    throw invalid_input("choose_device: there is no device " + std::to_string(device) +
                        "; this machine has " + std::to_string(count) + ", counted from 0");
}

}  // namespace lab::choose_device
