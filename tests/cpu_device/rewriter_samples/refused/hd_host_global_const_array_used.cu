// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 6: `t` is a variable of the host (line 5)
const int t[2] = {1, 2};
__host__ __device__ int f(int i) { return t[i]; }
__global__ void k(int* p) { *p = f(*p); }
