// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 6: `operator<` is a function of the host
struct s { float x; bool operator<(const s& a) const { return x < a.x; } };
__global__ void k(float* p) { s a{*p}, b{*p}; *p = a < b; }
