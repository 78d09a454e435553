// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

struct twice { __device__ float operator()(float x) const { return 2 * x; } };
template <class F> __global__ void k(float* p, F f) { *p = f(*p); }
void f(float* p) { twice t; k<<<1, 1>>>(p, t); k<<<1, 1>>>(p, twice()); }
