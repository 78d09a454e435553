// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

float f();
__device__ float g(float x = f()) { return x; }
__global__ void k(float* p) { *p = g(1); }
