// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

__device__ float two(float x) { return x; }
template <class T> __host__ __device__ T f(T x) { return two(x); }
float g() { return f(1.f); }
