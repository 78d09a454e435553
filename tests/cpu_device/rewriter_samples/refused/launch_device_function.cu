// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 6: `k` is launched and is no kernel
__device__ void k(int* p) { *p = 1; }
void f(int* p) { k<<<1, 1>>>(p); }
