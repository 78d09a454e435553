// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

constexpr int kWidth = 4;
__global__ void k(float* p, int m) { const int n = 2 * kWidth; float a[n]; a[0] = *p + m; *p = a[0]; }
