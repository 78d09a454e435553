// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 5: a `__constant__` variable is declared outside of functions, not in kernel `k`
__global__ void k(int* p) { __constant__ int t; *p = t; }
