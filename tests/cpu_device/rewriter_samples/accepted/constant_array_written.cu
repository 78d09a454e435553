// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

__constant__ int t[3];
__global__ void k(int* p) { t[0] = *p; ++t[1]; }
