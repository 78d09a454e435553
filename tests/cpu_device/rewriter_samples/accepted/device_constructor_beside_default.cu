// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

struct s { int a; s() = default; __device__ s(int b) : a(b) {} };
int main() { s x; s y = x; return y.a; }
