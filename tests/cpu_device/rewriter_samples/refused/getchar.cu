// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 6: `getchar` exists only on the host
#include <cstdio>
__global__ void k(int* p) { *p = getchar(); }
