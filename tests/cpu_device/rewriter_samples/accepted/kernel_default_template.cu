// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

template <class T = int> __global__ void k(T* p) { }
void f(int* p) { k<<<1, 1>>>(p); }
