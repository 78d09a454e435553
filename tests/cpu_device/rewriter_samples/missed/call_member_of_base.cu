// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

struct b { float x; float get() const { return x; } };
struct d : b {};
__global__ void k(d* p) { p->x = p->get(); }
