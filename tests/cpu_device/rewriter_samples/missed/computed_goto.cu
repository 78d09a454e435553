// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

__global__ void k(int* p) { void* t[] = {&&a, &&b}; goto *t[*p]; a: *p = 1; b: *p = 2; }
