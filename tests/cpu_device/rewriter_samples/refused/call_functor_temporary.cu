// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 6: `add::operator()` is a function of the host
struct add { int operator()(int a, int b) const { return a + b; } };
__global__ void k(int* p) { *p = add()(1, 2); }
