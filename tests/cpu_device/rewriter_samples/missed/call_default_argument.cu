// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

int d() { return 3; }
__device__ int f(int a = d()) { return a; }
__global__ void k(int* p) { *p = f(); }
