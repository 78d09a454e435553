// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 6: the lambda that kernel `k` is given is a function of the host
template <class F> __global__ void k(float* p, F f) { *p = f(*p); }
void f(float* p) { k<<<1, 1>>>(p, [](float x) { return 2 * x; }); }
