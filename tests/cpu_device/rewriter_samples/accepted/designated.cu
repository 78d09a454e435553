// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

struct s { int a, b; };
__global__ void k(int* p) { s x{.a = 1, .b = 2}; *p = x.a; }
