// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 6: `s::f` is a function of the host
struct s { float x; float f() const { return x; } };
__global__ void k(s* p) { p[0].x = p[1].f(); }
