// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

struct point { float x; point() = default; point(const point&) = default; };
__global__ void k(float* p) { point a; a.x = 1; point b = a; *p = b.x; }
