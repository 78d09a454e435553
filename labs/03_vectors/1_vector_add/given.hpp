// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 03.1 vector_add: what vector_add.cu starts from. There is nothing to do in here.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>

#include "lab/cuda_check.hpp"
#include "lab/errors.hpp"
#include "lab/refuse_if.hpp"
#include "lab/time_kernel.hpp"
#include "lab/timer.hpp"
#include "vector_add.hpp"

namespace lab::vector_add {

/// A limit of the device that is in use, such as cudaDevAttrMaxGridDimX.
inline std::size_t device_limit(cudaDeviceAttr which) {
  int device = 0, value = 0;
  CUDA_CHECK(cudaGetDevice(&device));
  CUDA_CHECK(cudaDeviceGetAttribute(&value, which, device));
  return static_cast<std::size_t>(value);
}

/// `needed` as a launch takes it; refuses more than the device can do.
inline unsigned at_most(std::size_t limit, std::size_t needed, const std::string& what) {
  refuse_if(needed > limit, "vector_add: ", needed, " ", what,
            " are needed, and this device allows at most ", limit);
  return static_cast<unsigned>(needed);
}

}  // namespace lab::vector_add
