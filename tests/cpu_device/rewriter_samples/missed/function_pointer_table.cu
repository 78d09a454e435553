// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

int h(int x) { return x; }
__device__ int (*t[1])(int) = {h};
__global__ void k(int* p) { *p = t[0](1); }
