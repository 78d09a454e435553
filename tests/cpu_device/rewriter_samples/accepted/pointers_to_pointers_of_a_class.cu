// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

struct v { float x; v operator+(int) const { return *this; } };
__global__ void k(v** p, v* const* q) { p[0] = p[1] + 2; p[2] = q[0] + 1; }
