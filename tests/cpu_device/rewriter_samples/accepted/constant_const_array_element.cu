// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

const int n[2] = {1, 2};
__constant__ int c[2] = {n[0], 3};
__global__ void k(int* p) { *p = c[0]; }
