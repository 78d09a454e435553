// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 5: device code cannot throw or catch exceptions
template <class T> __global__ void k(T* p) { if (*p) throw 1; }
void f(int* p) { k<<<1, 1>>>(p); }
