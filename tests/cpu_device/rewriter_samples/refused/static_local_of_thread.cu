// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 5: `n` is `static`, so all threads share it
__global__ void k(int* p) { static int n = threadIdx.x; *p = ++n; }
