// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 6: the constructor of `v` is a function of the host
struct v { float x; v() : x(1) {} };
__global__ void k(float* p) { v a[3]; *p = a[0].x; }
