// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 6: `point::norm` is a `__device__` function
struct point { float x; __device__ float norm() { return x; } };
void f() { point p{1}; p.norm(); }
