// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 6: `n` is known only when the program runs
int n;
__device__ int* p = &n;
__global__ void k() { *p = 3; }
