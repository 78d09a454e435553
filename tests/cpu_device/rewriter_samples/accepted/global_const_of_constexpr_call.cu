// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

constexpr int twice(int n) { return 2 * n; }
const int n = twice(2);
__global__ void k(int* p) { *p = n; }
