// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 8: `n` is a constant of the host
#include <algorithm>
const int n = 4;
__device__ const int& pick(const int& a) { return a; }
__global__ void k(int* p) { *p = pick(n); }
