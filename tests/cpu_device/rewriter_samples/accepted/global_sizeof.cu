// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

int total;
__global__ void k(int* p) { *p = sizeof(total); decltype(total) x = 3; *p = x; }
