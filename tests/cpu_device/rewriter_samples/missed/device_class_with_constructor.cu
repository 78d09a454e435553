// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

struct s { int a; __host__ __device__ s() : a(1) {} };
__device__ s x;
