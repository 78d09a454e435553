// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

template <class T> __global__ void k(T x) {}
class c { struct t { int a; }; public: void g() { k<<<1, 1>>>(t{1}); } };
void h() { c().g(); }
