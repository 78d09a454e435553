// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Names of built-in variables, given to variables of the host.
#include <cuda_runtime.h>

struct shape {
  dim3 threadIdx;
  unsigned x() const { return threadIdx.x; }
};

unsigned of_parameter(dim3 blockIdx) { return blockIdx.y; }

unsigned of_local(unsigned n) {
  const dim3 threadIdx(n), blockDim(n);
  const auto next = [](dim3 blockIdx) { return blockIdx.x + 1; };
  return threadIdx.x * blockDim.x + next(threadIdx);
}

template <class T>
__host__ __device__ T both(T t) {
#ifdef __CUDA_ARCH__
  return t + threadIdx.x;
#else
  return t;
#endif
}

template <class F>
__global__ void call(F f, unsigned* out) {
  *out = f(1);
}

void in_a_lambda(unsigned* out) {
  call<<<1, 1>>>([] __device__(unsigned n) { return n + threadIdx.x; }, out);
}
