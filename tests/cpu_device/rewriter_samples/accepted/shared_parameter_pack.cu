// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

__device__ void f(int a[4], float* b) { a[0] = b[0]; }
__global__ void k(float* p) { __shared__ int a[4]; f(a, p); *p = a[0]; }
