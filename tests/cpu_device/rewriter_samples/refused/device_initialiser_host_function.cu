// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 6: the first value of `c` must be a constant
int f(int x) { return x; }
__device__ int c = f(3);
