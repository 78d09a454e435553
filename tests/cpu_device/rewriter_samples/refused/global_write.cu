// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 6: `total` is a variable of the host (line 5)
int total;
__global__ void k(int* p) { total = *p; }
