// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 7: `n` is a variable of the host
int f();
const int n = f();
__global__ void k(int* p) { *p = n; }
