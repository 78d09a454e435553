// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 6: `t` is a variable of the host (line 5)
const int t[3] = {1, 2, 3};
__global__ void k(int* p) { *p = t[p[1]]; }
