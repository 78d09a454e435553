// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 5: device code has no `thread_local` variables
__global__ void k(int* p) { thread_local int x; *p = ++x; }
