// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

__global__ void k(int* p) { extern __shared__ int a[3]; *p = a[0]; }
