// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 6: `b::f` is a function of the device and overrides `a::f`
struct a { virtual int f() { return 1; } };
struct b : a { __device__ int f() override { return 2; } };
__global__ void k(int* p) { b x; *p = x.f(); }
