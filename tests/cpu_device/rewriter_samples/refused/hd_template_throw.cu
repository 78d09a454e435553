// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 5: device code cannot throw or catch exceptions
template <class T> __host__ __device__ T f(T x) { if (x) throw 1; return x; }
float g() { return f(1.f); }
