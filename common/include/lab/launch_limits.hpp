// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// What the current device allows: queried, as in exercise 03.1, instead of assumed.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <string>

#include "lab/cuda_check.hpp"
#include "lab/errors.hpp"

namespace lab {

/// The current device's value of an attribute that is a number of things, such as
/// cudaDevAttrMaxThreadsPerBlock, cudaDevAttrMaxGridDimX or cudaDevAttrMultiProcessorCount.
inline unsigned device_limit(cudaDeviceAttr attribute) {
  int device = 0, value = 0;
  CUDA_CHECK(cudaGetDevice(&device));
  CUDA_CHECK(cudaDeviceGetAttribute(&value, attribute, device));
  return static_cast<unsigned>(value);
}

/// Throws invalid_input, with both numbers, when there are more of something (`what`, such as
/// "threads in a block") than the current device's limit `attribute` allows.
inline void require_at_most(cudaDeviceAttr attribute, std::size_t asked_for,
                            const std::string& what) {
  const std::size_t most = device_limit(attribute);
  if (asked_for > most)
    throw invalid_input(std::to_string(asked_for) + " " + what +
                        " were asked for, and this device allows at most " + std::to_string(most));
}

}  // namespace lab
