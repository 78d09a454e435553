// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

struct s { int a; };
const s t{3};
__global__ void k(int* p) { *p = t.a; }
