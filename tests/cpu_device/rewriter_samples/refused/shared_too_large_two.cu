// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 7: has 64000 bytes of `__shared__` variables
constexpr int n = 8000;
__global__ void k(float* p) {
  __shared__ float a[n], b[n];
  a[threadIdx.x] = *p; b[threadIdx.x] = 1; __syncthreads(); *p = a[1] + b[2];
}
