// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 7: `a::get` is a function of the host
struct a { float x; float get() const { return x; } };
struct b { a y; };
__global__ void k(float* p, b q) { *p = q.y.get(); }
