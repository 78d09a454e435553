// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 6: the constructor of `v` is a function of the host, and `f` runs
struct v { float x; v(float a) : x(a) {} };
__device__ v f(float a) { return {a}; }
__global__ void k(float* p) { *p = f(*p).x; }
