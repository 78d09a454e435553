// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 6: `x` is a variable of the host (line 5)
thread_local int x;
__global__ void k(int* p) { *p = x; }
