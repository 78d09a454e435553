// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

__global__ void k(int* p) { static const int t[3] = {1, 2, 3}; *p = t[*p]; static constexpr int u[3] = {1, 2, 3}; *p = u[*p]; }
