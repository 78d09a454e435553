// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

int h(int x) { return x; }
template <int (*F)(int)> __global__ void k(int* p) { *p = F(1); }
void g(int* p) { k<h><<<1, 1>>>(p); }
