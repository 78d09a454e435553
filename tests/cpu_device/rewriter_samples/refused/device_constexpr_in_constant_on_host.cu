// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 6: `two` is a `__device__` function
__device__ constexpr int two(int x) { return x; }
void f() { int a[two(3)]; a[0] = 1; (void)a; constexpr int x = two(3); (void)x; }
