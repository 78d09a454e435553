// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

__global__ void k(int* p) { int a[3] = {1, 2, 3}; for (int x : a) *p += x; }
