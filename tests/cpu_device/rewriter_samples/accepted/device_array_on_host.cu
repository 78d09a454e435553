// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

__device__ int t[4];
int f(int* p) { p = t; return t[0]; }
