// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 5: `cudaMemcpy` exists only on the host
__global__ void k(int* p) { cudaMemcpy(p, p, 3, cudaMemcpyDeviceToDevice); }
