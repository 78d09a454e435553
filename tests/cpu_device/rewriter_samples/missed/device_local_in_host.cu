// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

void k(int* p) { __device__ int t; *p = 1; (void)t; }
