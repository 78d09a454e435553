// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

struct a { virtual int f() { return 1; } };
struct b : a { __device__ int f() override { return 2; } };
__global__ void k(int* p) { b x; *p = x.f(); }
