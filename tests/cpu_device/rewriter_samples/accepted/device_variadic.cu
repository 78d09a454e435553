// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

__device__ void k(int* p, ...) { *p = 1; }
__global__ void g(int* p) { k(p, 1, 2); }
