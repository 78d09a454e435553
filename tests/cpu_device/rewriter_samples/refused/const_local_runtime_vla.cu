// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 5: has a size that is known only when the program runs
__global__ void k(int* p) { const int n = *p; int a[n]; a[0] = 1; *p = a[0]; }
