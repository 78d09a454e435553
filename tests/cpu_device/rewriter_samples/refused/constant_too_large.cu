// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 5: have 80000 bytes, and there are 65536
__constant__ float t[20000];
__global__ void k(float* p) { *p = t[1]; }
