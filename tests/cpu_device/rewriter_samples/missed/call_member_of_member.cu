// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

struct a { float x; float get() const { return x; } };
struct b { a y; };
__global__ void k(float* p, b q) { *p = q.y.get(); }
