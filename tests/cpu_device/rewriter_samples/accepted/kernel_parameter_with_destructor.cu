// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

struct s { float* x; ~s() { } };
__global__ void k(s p) { *p.x = 1; }
void f(s p) { k<<<1, 1>>>(p); }
