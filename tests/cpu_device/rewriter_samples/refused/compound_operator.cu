// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 6: `operator+=` is a function of the host
struct s { float x; s& operator+=(s a) { x += a.x; return *this; } };
__global__ void k(float* p) { s a{*p}; a += a; *p = a.x; }
