// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 6: `s::operator float` is a function of the host
struct s { float x; operator float() const { return x; } };
__global__ void k(float* p) { s a{*p}; float f = a; *p = f; }
