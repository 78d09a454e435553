// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

__global__ void k(int* p) { const int n = 3; int a[n]; a[0] = *p; *p = a[0]; }
