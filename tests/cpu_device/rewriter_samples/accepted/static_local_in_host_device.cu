// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

__host__ __device__ int f() { static int x; return ++x; }
__global__ void k(int* p) { *p = f(); }
