// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

const int n = 4;
__device__ int twice(int a, const int& b) { return 2 * a + b; }
__global__ void k(int* p) { const int m = n; const int& r = m; *p = twice(n, m) & n; *p = (*p & n); *p += r; }
