// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 7: `twice::operator()` is a function of the host, and kernel `k` calls it (line 6)
struct twice { float operator()(float x) const { return 2 * x; } };
template <class F> __global__ void k(float* p, F f) { *p = f(*p); }
void f(float* p) { k<<<1, 1>>>(p, twice{}); }
