// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

constexpr int t[3] = {1, 2, 3};
__global__ void k(int* p) { *p = sizeof(t) / sizeof(t[0]); }
