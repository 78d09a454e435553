// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 6: has 65536 bytes of `__shared__` variables
#define N 128
__global__ void k(float* p) { __shared__ float a[N][N]; a[threadIdx.x][threadIdx.y] = *p; __syncthreads(); *p = a[0][1]; }
