// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

__global__ void k(int* p, int n) { int* a = (int*)alloca(n); a[0] = 1; *p = a[0]; }
