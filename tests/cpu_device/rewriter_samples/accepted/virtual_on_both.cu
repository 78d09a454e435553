// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

struct a { __host__ __device__ virtual int f() { return 1; } int g() { return 1; } };
struct b : a { __host__ __device__ int f() override { return 2; } __device__ int g() { return 2; } };
__global__ void k(int* p) { b x; *p = x.f() + x.g(); }
