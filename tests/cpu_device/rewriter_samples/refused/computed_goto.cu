// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 5: device code has no computed `goto`
__global__ void k(int* p) { void* t[] = {&&a, &&b}; goto *t[*p]; a: *p = 1; b: *p = 2; }
