// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

__device__ int f(int n) { return n ? f(n - 1) : 0; }
__global__ void k(int* p) { *p = f(*p); }
