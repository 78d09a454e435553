// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 6: the constructor of `point` is a function of the host
struct point { float x; constexpr point(float v) : x(v) {} };
__global__ void k(float* p) { point a(*p); *p = a.x; }
