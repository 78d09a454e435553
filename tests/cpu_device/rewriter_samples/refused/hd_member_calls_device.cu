// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 6: `two` is a `__device__` function
__device__ float two(float x) { return x; }
struct s { __host__ __device__ float f(float x) { return two(x); } };
