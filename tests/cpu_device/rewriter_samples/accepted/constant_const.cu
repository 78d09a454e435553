// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

__constant__ const int t = 3;
__global__ void k(int* p) { *p = t; }
