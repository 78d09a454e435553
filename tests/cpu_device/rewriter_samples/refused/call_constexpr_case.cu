// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 6: `twice` is a function of the host
constexpr int twice(int x) { return 2 * x; }
__global__ void k(int* p) { switch (*p) { case twice(3): *p = 1; } }
