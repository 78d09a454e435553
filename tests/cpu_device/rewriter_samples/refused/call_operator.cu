// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 7: `operator+` is a function of the host
struct point { float x; };
point operator+(point a, point b) { return {a.x + b.x}; }
__global__ void k(float* p) { point a{*p}, b{*p}; point c = a + b; *p = c.x; }
