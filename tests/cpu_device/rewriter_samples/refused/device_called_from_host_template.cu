// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 6: `two` is a `__device__` function
template <class T> __device__ T two(T x) { return x; }
void f() { two(1); }
