// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

__global__ void k(int* p, int n = 3) { *p = n; }
void f(int* p) { k<<<1, 1>>>(p); }
