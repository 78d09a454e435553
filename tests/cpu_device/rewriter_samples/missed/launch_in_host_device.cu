// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

__global__ void k(int* p) { *p = 1; }
__host__ __device__ void f(int* p) { k<<<1, 1>>>(p); }
