// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 6: `n` is a constant of the host
const int n = 3;
__global__ void k(int* p) { const int& r = n; *p = r; }
