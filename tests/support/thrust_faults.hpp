// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// For tests of contracts that pass on what Thrust throws.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstring>
#include <new>

#include "current_device.hpp"
#include "full_device.hpp"
#include "lab/cuda_check.hpp"

namespace lab::testing {

/// For fault tests (fault_tests.hpp): what `call` returns. If cudaMalloc fails, Thrust throws
/// std::bad_alloc, whose text names the error: that comes out as the lab::cuda_error which fault
/// tests expect.
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

/// Whether std::bad_alloc comes out of `call` where Thrust finds no memory. That may be what it
/// needs while it sorts, and the data may be in memory of cudaMalloc: so there is less and less
/// memory, until there is enough for the data only. (With still less, cudaMalloc may fail first.)
template <class Call>
bool thrust_finds_no_memory(const Call& call) {
  constexpr std::size_t kSteps = 16;
  full_device occupied(current_device());
  for (std::size_t step = 1; step < kSteps; ++step) {
    try {
      call();
    } catch (const std::bad_alloc&) {
      return true;
    } catch (const cuda_error&) {
      (void)cudaGetLastError();
      return false;
    }
    occupied.occupy(size_that_fits_once() * sizeof(float) / 3 * 4 / kSteps);
  }
  return false;
}

}  // namespace lab::testing
