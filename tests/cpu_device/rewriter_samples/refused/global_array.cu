// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 6: `table` is a variable of the host (line 5)
float table[4];
__global__ void k(float* p) { *p = table[1]; }
