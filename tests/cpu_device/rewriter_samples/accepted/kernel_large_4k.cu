// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

struct s { char a[4100]; };
__global__ void k(s p, char* q) { *q = p.a[0]; }
