// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

struct s { int a; };
__global__ void k(s* p) { *p = __shfl_sync(0xffffffff, *p, 0); }
