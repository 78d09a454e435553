// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

__device__ float two(float x) { return x; }
template <class T> void f(T t) { two(t); }
