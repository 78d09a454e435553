// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

struct t { int a; };
template <class T> __global__ void k(T x) {}
void g() { t a{1}; k<<<1, 1>>>(a); k<<<1, 1>>>(t{1}); }
