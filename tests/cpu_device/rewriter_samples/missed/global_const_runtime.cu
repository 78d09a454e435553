// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

int f();
const int n = f();
__global__ void k(int* p) { *p = n; }
