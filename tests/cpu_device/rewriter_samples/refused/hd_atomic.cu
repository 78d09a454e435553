// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 5: `atomicAdd()` exists only in device code
__host__ __device__ void f(int* p) { atomicAdd(p, 1); }
