// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

void __device__ f(int* p) { *p = 1; }
__global__ static void k(int* p) { f(p); }
