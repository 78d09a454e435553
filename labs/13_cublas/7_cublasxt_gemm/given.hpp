// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 13.7 cublasxt_gemm: what cublasxt_gemm.cu starts from. There is nothing to do in here.
#pragma once

#include <cublasXt.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cublasxt_gemm.hpp"
#include "lab/cublas_check.hpp"
#include "lab/cublasxt_handle.hpp"
#include "lab/cuda_check.hpp"
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
inline std::vector<int> devices_of(const plan& options) {
  refuse_if(options.block_dim < 1, "cublasxt_gemm: tiles have a side of 1 element at least, not ",
            options.block_dim);
  const int count = device_count();
  std::vector<int> devices = options.devices;
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

/// That op(A) · B is possible.
inline void require_product(op first, const matrix& a, const matrix& b) {
  require_whole("A", a);
  require_whole("B", b);
  const std::size_t terms = first == op::none ? a.columns : a.rows;
  refuse_if(terms != b.rows, "cublasxt_gemm: op(A) has ", terms, " columns and B has ", b.rows,
            " rows; for a product these must be the same");
}

/// That A + B and A · B are.
inline void require_square(const matrix& a, const matrix& b) {
  require_whole("A", a);
  require_whole("B", b);
  refuse_if(a.rows != b.rows || a.columns != b.columns || a.columns != b.rows,
            "cublasxt_gemm: A is ", name_of(a), " and B is ", name_of(b),
            "; A + B and A · B are both possible only for square matrices of one size");
}

/// A matrix without any values yet: NaN, not 0.
inline matrix unwritten(std::size_t rows, std::size_t columns) {
  return {rows, columns,
          std::vector<float>(rows * columns, std::numeric_limits<float>::quiet_NaN())};
}

/// The product of matrices without elements: zeros, if it has any elements itself.
inline result nothing_to_add(matrix c) {
  std::ranges::fill(c.elements, 0.0F);
  return {std::move(c)};
}

}  // namespace lab::cublasxt_gemm
