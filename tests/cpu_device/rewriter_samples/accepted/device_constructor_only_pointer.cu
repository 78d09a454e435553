// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

struct s { int a; __device__ s() : a(1) {} };
__global__ void k(s x) {}
void f() { s* p; cudaMalloc(&p, sizeof(s)); cudaFree(p); }
