// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

__global__ void k(float* p) { __shared__ float a[12288]; a[threadIdx.x] = *p; __syncthreads(); *p = a[1]; }
