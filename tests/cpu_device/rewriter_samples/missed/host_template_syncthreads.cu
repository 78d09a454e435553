// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

template <class T> void f(T* p) { __syncthreads(); }
void g(int* p) { f(p); }
