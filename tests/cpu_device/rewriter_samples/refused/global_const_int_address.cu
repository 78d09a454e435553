// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 6: `n` is a constant of the host, which has a value in kernel `k`, but no address
const int n = 4;
__global__ void k(const int** p) { *p = &n; }
