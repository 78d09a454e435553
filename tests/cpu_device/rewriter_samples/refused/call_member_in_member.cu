// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 5: `sq` is a function of the host
struct point { float x; float sq() const { return x * x; } __device__ float norm() const { return sq(); } };
__global__ void k(float* p) { point q{*p}; *p = q.norm(); }
