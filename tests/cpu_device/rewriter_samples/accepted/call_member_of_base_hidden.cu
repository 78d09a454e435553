// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

struct b { float x; float get() const { return x; } };
struct d : b { __device__ float get() const { return 2 * x; } };
struct e { d y; };
__global__ void k(d* p, e q) { auto r = q; p->x = p->get() + r.y.get(); }
