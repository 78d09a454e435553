// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 01.5 error_handling: what the results are compared with.
#pragma once

#include <cstddef>
#include <numeric>
#include <string>
#include <vector>

#include "error_handling.hpp"

namespace lab::error_handling {

/// Whether CUDA calls the error of this mistake so. (A pointer that is not the device's has no name
/// of its own any more: cudaErrorInvalidDevicePointer is not returned since CUDA 10.1.)
inline bool is_named(mistake kind, const std::string& name) {
  switch (kind) {
    case mistake::invalid_value:
    case mistake::invalid_pointer:
      return name == "cudaErrorInvalidValue";
    case mistake::bad_direction:
      return name == "cudaErrorInvalidMemcpyDirection";
    case mistake::bad_configuration:
      return is_refused_launch(name);
    case mistake::out_of_memory:
      return name == "cudaErrorMemoryAllocation";
    case mistake::illegal_address:
      return name == "cudaErrorIllegalAddress";
  }
  return false;
}

/// The function that returns it. A launch returns nothing and is asked about.
inline std::string expected_function(mistake kind) {
  switch (kind) {
    case mistake::invalid_value:
    case mistake::out_of_memory:
      return "cudaMalloc";
    case mistake::invalid_pointer:
      return "cudaFree";
    case mistake::bad_direction:
      return "cudaMemcpy";
    case mistake::bad_configuration:
      return "cudaGetLastError";
    case mistake::illegal_address:
      return "cudaDeviceSynchronize";
  }
  return {};
}

/// The threads of the block in the end, where a block has at most `most`.
inline unsigned reference_threads(unsigned threads, unsigned most) {
  while (threads > most) threads /= 2;
  return threads;
}

inline std::vector<unsigned> reference_values(std::size_t n) {
  std::vector<unsigned> values(n);
  std::iota(values.begin(), values.end(), 0U);
  return values;
}

}  // namespace lab::error_handling
