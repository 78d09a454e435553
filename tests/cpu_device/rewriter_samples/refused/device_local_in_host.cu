// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 5: variable is declared outside of functions, not in `k`
void k(int* p) { __device__ int t; *p = 1; (void)t; }
