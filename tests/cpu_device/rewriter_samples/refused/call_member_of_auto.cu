// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 6: `a::get` is a function of the host
struct a { float x; float get() const { return x; } };
__global__ void k(float* p, a q) { auto r = q; *p = r.get(); }
