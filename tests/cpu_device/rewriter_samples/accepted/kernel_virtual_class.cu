// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

struct s { virtual __device__ int f() { return 1; } };
__global__ void k(s p) { p.f(); }
void f() { s x; k<<<1, 1>>>(x); }
