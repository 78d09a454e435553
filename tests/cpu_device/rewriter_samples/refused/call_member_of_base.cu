// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 7: `b::get` is a function of the host
struct b { float x; float get() const { return x; } };
struct d : b {};
__global__ void k(d* p) { p->x = p->get(); }
