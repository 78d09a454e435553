// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 6: `twice` is a function of the host
float twice(float x) { return 2 * x; }
template <class T> __global__ void k(T* p) { *p = twice(*p); }
void f(float* p) { k<<<1, 1>>>(p); }
