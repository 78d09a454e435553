// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

float twice(float x) { return x; }
template <int N> __global__ void k(float* p) { if constexpr (N > 1) *p = twice(*p); }
void f(float* p) { k<1><<<1, 1>>>(p); }
