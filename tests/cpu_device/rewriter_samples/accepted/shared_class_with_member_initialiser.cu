// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

struct s { int a = 1; };
__global__ void k(int* p) { __shared__ s x; *p = x.a; }
