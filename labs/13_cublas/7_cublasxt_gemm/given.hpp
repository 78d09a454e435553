// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 13.7 cublasxt_gemm: what cublasxt_gemm.cu starts from. There is nothing to do in here.
#pragma once

#include <cublasXt.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "cublasxt_gemm.hpp"
#include "lab/cublas_check.hpp"
#include "lab/cublasxt_handle.hpp"
#include "lab/device_limits.hpp"
#include "lab/errors.hpp"
#include "lab/refuse_if.hpp"
#include "lab/timer.hpp"

namespace lab::cublasxt_gemm {

inline std::string name_of(const matrix& m) {
  return std::to_string(m.rows) + " x " + std::to_string(m.columns);
}

inline void require_whole(const char* name, const matrix& m) {
  const bool right = m.rows == 0 || m.columns == 0
                         ? m.elements.empty()
                         : m.elements.size() % m.rows == 0 &&
                               m.elements.size() / m.rows == m.columns;  // the product may overflow
  refuse_if(!right, "cublasxt_gemm: ", name, " is ", name_of(m), ", but has ", m.elements.size(),
            " elements");
}

/// The plan's devices, or all of them, if each is there and is named once.
inline std::vector<int> devices_of(const plan& how) {
  refuse_if(how.block_dim < 1, "cublasxt_gemm: tiles have a side of 1 element at least, not ",
            how.block_dim);
  const int count = device_count();
  std::vector<int> devices = how.devices;
  if (devices.empty())
    for (int device = 0; device < count; ++device) devices.push_back(device);
  for (std::size_t i = 0; i < devices.size(); ++i) {
    refuse_if(devices[i] < 0 || devices[i] >= count, "cublasxt_gemm: there is no device ",
              devices[i], "; there are ", count, ", counted from 0");
    refuse_if(std::find(devices.begin(), devices.begin() + static_cast<std::ptrdiff_t>(i),
                        devices[i]) != devices.begin() + static_cast<std::ptrdiff_t>(i),
              "cublasxt_gemm: device ", devices[i], " is named twice");
  }
  return devices;
}

}  // namespace lab::cublasxt_gemm
