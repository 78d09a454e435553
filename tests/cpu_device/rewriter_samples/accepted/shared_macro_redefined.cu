// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#define N 32
#undef N
#define N 16
__global__ void k(float* p) { __shared__ float a[N][N]; a[threadIdx.x][0] = *p; __syncthreads(); *p = a[0][0]; }
