// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 8: `t` is a constant of the host
struct s { int a; };
constexpr s t = {3};
__device__ int g(const s& x) { return x.a; }
__global__ void k(int* p) { *p = g(t); }
