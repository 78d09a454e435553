// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 6: `data` is a variable of the host (line 5)
float* data;
__global__ void k(float* p) { *p = data[1]; }
