// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

struct v { float x; v(float a) : x(a) {} };
__device__ v f(float a) { return {a}; }
__global__ void k(float* p) { *p = f(*p).x; }
