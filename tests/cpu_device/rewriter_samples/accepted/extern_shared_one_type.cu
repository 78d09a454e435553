// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

__global__ void k(unsigned* p) { extern __shared__ unsigned a[]; *p = a[0]; }
__global__ void l(unsigned* p) { extern __shared__ unsigned int a[]; *p = a[0]; }
