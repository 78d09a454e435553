// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

float two(int x) { return x; }
__device__ float two(float x, float y) { return x; }
__global__ void k(float* p) { *p = two(3); }
