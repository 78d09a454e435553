// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

const int n = 4;
__global__ void k(const int** p) { *p = &n; }
