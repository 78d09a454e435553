// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 7: `operator+` is a function of the host
template <class T> struct v { T x; };
template <class T> v<T> operator+(v<T> a, v<T> b) { return {a.x + b.x}; }
__global__ void k(v<int>* p) { *p = p[0] + p[1]; }
