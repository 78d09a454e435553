// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

template <class... T> __global__ void k(int* p, T... t) { *p = sizeof...(t); }
void f(int* p) { k<<<1, 1>>>(p, 1, 2); }
