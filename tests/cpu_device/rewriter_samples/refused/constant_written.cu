// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 6: `total` is `__constant__`, which kernels can only read
__constant__ int total;
__global__ void k(int* p) { total = *p; }
