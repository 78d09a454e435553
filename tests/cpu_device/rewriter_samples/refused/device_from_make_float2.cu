// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 5: `make_float2` is known only
__device__ float2 v = make_float2(1, 2);
__global__ void k(float* p) { *p = v.x; }
