// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

static __managed__ int x;
__managed__ int y = 3;
__global__ void k(int* p) { *p = x + y; }
