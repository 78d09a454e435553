// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 5: `__shared__` memory belongs to a block of threads
__host__ __device__ void f() { __shared__ int a[3]; a[0] = 1; }
