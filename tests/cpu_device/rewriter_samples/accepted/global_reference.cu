// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

__device__ int x;
int& total = x;
__global__ void k(int* p) { *p = total; }
