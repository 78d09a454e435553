// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 6: kernel `k` is called like an ordinary function; a kernel is launched
__global__ void k(int* p) { *p = 1; }
__global__ void l(int* p) { k(p); }
