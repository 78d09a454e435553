// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// For the main() of a test program that is also its own child, or that runs on a GPU.
#pragma once

#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>

#include "test_events.hpp"

/// Runs the tests, and tells what happens in them (test_events.hpp). Without a device they are
/// skipped (77); LAB_REQUIRE_GPU=1 makes that a failure.
inline int run_tests(int argc, char** argv) {
  return test_events::run(argc, argv, [](bool) {
#ifndef __CPU_DEVICE__
    int count = 0;
    const cudaError_t status = cudaGetDeviceCount(&count);
    if (status != cudaSuccess || count == 0) {
      const char* required = std::getenv("LAB_REQUIRE_GPU");
      const bool fails = required != nullptr && *required != '\0' && *required != '0';
      std::fprintf(stderr, "%s: there is no GPU: %s\n", fails ? "FAILED" : "SKIPPED",
                   cudaGetErrorString(status));
      return fails ? 1 : 77;
    }
#endif
    return 0;
  });
}
