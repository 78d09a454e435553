// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>

namespace cub {
inline cudaError_t Debug(cudaError_t error, const char* file, int line) {
  if (error != cudaSuccess)
    std::fprintf(stderr, "CUDA error %d at %s:%d: %s\n", static_cast<int>(error), file, line,
                 cudaGetErrorString(error));
  return error;
}
}  // namespace cub

#ifndef CubDebug
#define CubDebug(e) cub::Debug((e), __FILE__, __LINE__)
#endif
#ifndef CubDebugExit
#define CubDebugExit(e)                                   \
  if (cub::Debug((e), __FILE__, __LINE__) != cudaSuccess) \
    std::exit(1);                                         \
  else                                                    \
    static_cast<void>(0)
#endif
