// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 6: `t` is a variable of the host (line 5)
float t[3];
__global__ void k(float** p) { *p = t; }
