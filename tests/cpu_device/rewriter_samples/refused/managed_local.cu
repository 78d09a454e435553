// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 5: a `__managed__` variable is declared outside of functions, not in kernel `k`
__global__ void k(int* p) { __managed__ int t; *p = t; }
