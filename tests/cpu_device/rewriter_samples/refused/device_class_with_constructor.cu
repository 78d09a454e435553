// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 6: `x` is a variable of the device, where nothing runs before main()
struct s { int a; __host__ __device__ s() : a(1) {} };
__device__ s x;
