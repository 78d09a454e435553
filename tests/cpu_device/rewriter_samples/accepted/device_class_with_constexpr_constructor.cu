// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

struct s { int a; constexpr s() : a(1) {} };
struct t { int a; __host__ __device__ t() {} };
__device__ s x;
__device__ t y;
__global__ void k(int* p) { static t z; *p = x.a + y.a + z.a; }
