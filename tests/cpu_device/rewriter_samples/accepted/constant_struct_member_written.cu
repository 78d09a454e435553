// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

struct s { int a; };
__constant__ s c;
__global__ void k(int* p) { c.a = *p; }
