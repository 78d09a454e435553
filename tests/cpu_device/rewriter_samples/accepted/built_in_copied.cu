// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

__global__ void k(int* x) { unsigned i = threadIdx.x; uint3 t = threadIdx; t.x = 1; ++i; *x = i + t.x + (threadIdx.x == 1) & threadIdx.y; }
