// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 7: `t` is a class of `g`, and kernel `k` is a template
void f(int* p) { struct t { int a; }; auto l = [](t x) {}; }
template <class T> __global__ void k(T x) {}
void g() { struct t { int a; }; k<<<1, 1>>>(t{1}); }
