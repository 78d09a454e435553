// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

__global__ void k(int* p) { __shared__ int a[13000]; a[p[0]] = 1; *p = a[p[1]]; }
