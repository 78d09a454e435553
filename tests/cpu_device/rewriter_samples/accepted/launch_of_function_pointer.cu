// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

__global__ void k(int* p) { *p = 1; }
void f(void (*g)(int*), int* p) { g<<<1, 1>>>(p); auto h = k; h<<<1, 1>>>(p); }
