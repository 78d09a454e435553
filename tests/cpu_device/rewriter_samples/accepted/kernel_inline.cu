// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

inline __global__ void k(int* p) { *p = 1; }
void f(int* p) { k<<<1, 1>>>(p); }
