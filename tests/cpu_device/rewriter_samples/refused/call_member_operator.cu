// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 6: `point::operator[]` is a function of the host
struct point { float x; float operator[](int i) const { return x; } };
__global__ void k(float* p) { point a{*p}; *p = a[0]; }
