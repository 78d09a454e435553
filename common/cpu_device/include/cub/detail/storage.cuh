// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// What the TempStorage of the collectives is made of.
#pragma once

#include <cuda_runtime.h>

namespace cub::detail {

/// Room for N values of T. It is born without any, so that it may be a __shared__ variable or a
/// member of a union.
template <class T, int N>
struct slots {
  alignas(T) unsigned char bytes[sizeof(T) * static_cast<std::size_t>(N)];
  T& operator[](int i) { return data()[i]; }
  T* data() { return reinterpret_cast<T*>(bytes); }
};

/// Makes it a race, which the check build reports, to use a TempStorage again while other threads
/// may still be in the call before. Each thread marks its own word when it comes, and looks at its
/// neighbour's when it goes.
template <int N>
struct reuse_guard {
  volatile unsigned of[N];  // a word each: the check build looks at words
  void come(int thread) { of[thread] = 1; }
  void go(int thread) const { [[maybe_unused]] const unsigned seen = of[(thread + 1) % N]; }
};

/// The calling thread's place in a block that must have the size the collective was made for.
template <int X, int Y, int Z>
int thread_of_block(const char* file, int line) {
  if (blockDim.x * blockDim.y * blockDim.z != static_cast<unsigned>(X * Y * Z))
    ::cpu_device::refuse(
        "a block-wide function of cub was made for another number of threads than the block has: "
        "its template arguments must be the block's size.",
        file, line);
  return static_cast<int>(threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z));
}

inline int thread_of_block() {
  return static_cast<int>(threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z));
}

}  // namespace cub::detail
