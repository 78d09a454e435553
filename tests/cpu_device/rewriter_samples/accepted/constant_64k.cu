// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

__constant__ float c[16384];
__global__ void k(float* p) { *p = c[1]; }
