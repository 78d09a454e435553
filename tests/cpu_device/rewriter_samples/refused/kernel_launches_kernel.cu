// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 6: a kernel launches another kernel (dynamic parallelism)
__global__ void k(int* p) { *p = 1; }
__global__ void l(int* p) { k<<<1, 1>>>(p); }
