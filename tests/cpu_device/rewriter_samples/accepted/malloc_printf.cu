// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include <cstdio>
#include <cstdlib>
__global__ void k(int** p) { *p = (int*)malloc(4); printf("%d\n", 3); free(*p); }
