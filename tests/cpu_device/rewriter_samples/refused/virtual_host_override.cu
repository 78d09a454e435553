// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 6: `b::f` is a function of the host and overrides `a::f`
struct a { __device__ virtual int f() { return 1; } };
struct b : a { int f() override { return 2; } };
__global__ void k(int* p) { b x; a* y = &x; *p = y->f(); }
