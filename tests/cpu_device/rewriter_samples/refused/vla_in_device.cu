// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 5: `a[n + 1]` has a size that is known only when the program runs
__device__ int f(int n) { int a[n + 1]; a[0] = 1; return a[0]; }
