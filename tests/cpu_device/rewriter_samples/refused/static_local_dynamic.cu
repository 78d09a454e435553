// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 5: `x` is `static`, so all threads share it
__global__ void k(int* p) { static int x = p[1]; *p = ++x; }
