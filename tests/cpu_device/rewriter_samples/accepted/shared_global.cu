// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

__shared__ int a[3];
__global__ void k(int* p) { a[0] = 1; *p = a[0]; }
