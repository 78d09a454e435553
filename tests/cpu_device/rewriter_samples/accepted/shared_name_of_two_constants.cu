// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

constexpr int n = 20000;
__global__ void k(float* p) { constexpr int n = 8; __shared__ float a[n]; a[threadIdx.x] = *p; __syncthreads(); *p = a[0]; }
