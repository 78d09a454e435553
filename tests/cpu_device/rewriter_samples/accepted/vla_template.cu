// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

template <class T> __global__ void k(T* p, int n) { T a[n]; a[0] = 1; *p = a[0]; }
