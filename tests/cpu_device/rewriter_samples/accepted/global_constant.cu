// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

__constant__ int total;
__global__ void k(int* p) { *p = total; }
