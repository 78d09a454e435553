// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 6: the constructor of `s` is a function of the host
struct s { float x; s() = default; s(const s& o) : x(o.x) {} };
__global__ void k(s* p) { s a = p[0]; p[1].x = a.x; }
