// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 6: `a` is `int` in line 5 and `float` here
__global__ void k(int* p) { extern __shared__ int a[]; *p = a[0]; }
__global__ void l(float* p) { extern __shared__ float a[]; *p = a[0]; }
