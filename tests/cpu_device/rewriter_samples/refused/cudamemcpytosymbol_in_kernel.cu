// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 6: `cudaMemcpyToSymbol` exists only on the host
__constant__ int c;
__global__ void k(int* p) { cudaMemcpyToSymbol(c, p, 4); }
