// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 6: `operator+=` is a function of the host
struct v { float x; v& operator+=(const v& b) { x += b.x; return *this; } };
__global__ void k(v* p) { p[0] += p[1]; }
