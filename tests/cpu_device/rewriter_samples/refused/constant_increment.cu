// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 6: `c` is `__constant__`, which kernels can only read
__constant__ int c;
__global__ void k(int* p) { ++c; }
