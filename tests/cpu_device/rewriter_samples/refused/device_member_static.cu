// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 5: `a` is a member
struct s { static __device__ int a; };
__device__ int s::a = 3;
__global__ void k(int* p) { *p = s::a; }
