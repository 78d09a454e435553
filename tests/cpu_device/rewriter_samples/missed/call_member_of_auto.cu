// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

struct a { float x; float get() const { return x; } };
__global__ void k(float* p, a q) { auto r = q; *p = r.get(); }
