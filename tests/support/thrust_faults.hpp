// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// For fault tests (fault_tests.hpp) of contracts that pass on what Thrust throws.
#pragma once

#include <cuda_runtime.h>

#include <cstring>
#include <new>

#include "lab/cuda_check.hpp"

namespace lab::testing {

/// What `call` returns. If cudaMalloc fails, Thrust throws std::bad_alloc, whose text names the
/// error: that comes out as the lab::cuda_error which fault tests expect.
template <class Call>
auto as_cuda_error(const Call& call) {
  try {
    return call();
  } catch (const std::bad_alloc& error) {
    int code = 1;
    while (code < 1000 &&
           std::strstr(error.what(), cudaGetErrorName(static_cast<cudaError_t>(code))) == nullptr)
      ++code;
    lab::detail::throw_cuda_error(static_cast<cudaError_t>(code), "thrust", __FILE__, __LINE__);
  }
}

}  // namespace lab::testing
