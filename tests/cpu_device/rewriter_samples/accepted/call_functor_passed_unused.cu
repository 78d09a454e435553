// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

struct twice { float operator()(float x) const { return 2 * x; } };
template <class F> __global__ void k(float* p, F f) { *p = sizeof f; }
void f(float* p) { k<<<1, 1>>>(p, twice{}); }
