// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 6: `total` is a variable of the host (line 5)
int total;
template <class T> __global__ void k(T* p) { *p = total; }
void f(int* p) { k<<<1, 1>>>(p); }
