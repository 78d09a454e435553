// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 6: `t` is a variable of the host (line 5)
int t;
template <class T> __host__ __device__ T f(T i) { return t; }
int g() { return f(1); }
