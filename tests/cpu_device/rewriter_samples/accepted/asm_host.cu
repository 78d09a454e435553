// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

void f() { asm volatile("" ::: "memory"); }
__global__ void k(int* p) { asm volatile("" ::: "memory"); *p = 1; }
