// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

__global__ void k(int* p, int n) { *p = n; }
void f(int* p, int m) { k<<<1, 1>>>(p, [&] { return 2 * m; }()); }
