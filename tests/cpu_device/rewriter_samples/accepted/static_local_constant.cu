// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

__global__ void k(int* p, int n) { static int x = 3; *p = x + n; }
