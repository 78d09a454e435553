// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 7: `operator+` is a function of the host
struct v { float x; };
v operator+(const v& a, const v& b) { return {a.x + b.x}; }
__global__ void k(v* p) { p[0] = p[1] + p[2]; }
