// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

const int n = 3;
__global__ void k(int* p) { const int& r = n; *p = r; }
