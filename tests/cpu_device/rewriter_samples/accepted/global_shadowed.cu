// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

int total;
__global__ void k(int* total) { *total = 1; }
__global__ void k2(int* p) { int total = 2; *p = total; }
struct s { int total; };
__global__ void k3(s p) { p.total = 3; s q{.total = 2}; }
