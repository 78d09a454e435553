// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 5: `cudaGetErrorString` exists only on the host
__global__ void k(int* p) { cudaGetErrorString(cudaSuccess); }
