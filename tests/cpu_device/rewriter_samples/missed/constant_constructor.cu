// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

struct s { int a; __host__ __device__ s(int b) : a(b) {} };
__constant__ s c(3);
__global__ void k(int* p) { *p = c.a; }
