// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

struct s { float x; s() = default; __host__ __device__ s(const s& o) : x(o.x) {} };
__device__ s twice(s a) { return {a}; }
__global__ void k(s* p) { s a = p[0]; p[1].x = twice(a).x; }
