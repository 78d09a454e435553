// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

__global__ void k(int* p) { static __constant__ int t = 3; *p = t; }
