// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 6: `s::s` is a `__device__` function
struct s { int a; __device__ s(int b) : a(b) {} };
int main() { s x(3); return x.a; }
