// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 8: have 120000 bytes
#define N 100
constexpr int m = 100;
__constant__ float c[N][m];
__constant__ double d[N * m];
__global__ void k(double* p) { *p = c[1][2] + d[1]; }
