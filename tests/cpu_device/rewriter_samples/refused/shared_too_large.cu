// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 5: has 52000 bytes of `__shared__` variables
__global__ void k(int* p) { __shared__ int a[13000]; a[p[0]] = 1; *p = a[p[1]]; }
