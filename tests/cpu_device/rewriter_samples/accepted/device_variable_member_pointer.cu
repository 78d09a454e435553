// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

struct s { int* p; };
__device__ s x = {nullptr};
__global__ void k(int* q) { x.p = q; }
