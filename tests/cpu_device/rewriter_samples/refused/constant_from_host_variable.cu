// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 6: `n` is known only when the program runs
int n = 3;
__constant__ int c = n;
__global__ void k(int* p) { *p = c; }
