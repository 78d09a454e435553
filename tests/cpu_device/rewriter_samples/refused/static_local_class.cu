// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 6: `x` is `static`, so all threads share it
struct s { int a; __device__ s() : a(1) {} };
__global__ void k(int* p) { static s x; *p = ++x.a; }
