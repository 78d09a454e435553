// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

template <class F> __global__ void k(F f) { f(); }
class c { void g() { auto l = [] __device__ () {}; k<<<1, 1>>>(l); } };
