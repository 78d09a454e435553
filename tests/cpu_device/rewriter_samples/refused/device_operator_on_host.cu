// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 7: `operator+` is a `__device__` function, and `main` runs on the host
struct v { float x; };
__device__ v operator+(v a, v b) { return {a.x + b.x}; }
int main() { v a{1}, b{2}; v c = a + b; return c.x; }
