// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 6: `t` is a variable of the host (line 5)
int t;
inline __host__ __device__ int f(int i) { return t + i; }
int g() { return f(1); }
