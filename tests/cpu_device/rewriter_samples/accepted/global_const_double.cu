// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

const double n = 4;
__global__ void k(double* p) { *p = n; }
