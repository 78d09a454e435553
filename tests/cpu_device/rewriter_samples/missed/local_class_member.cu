// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

__global__ void k(int* p) { struct s { int a; int f() { return a; } }; s x{*p}; *p = x.f(); }
