// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 5: it cannot be `static`, too
__global__ void k(int* p) { static extern __shared__ int a[]; *p = a[0]; }
