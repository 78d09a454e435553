// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 5: cannot be `const`
__managed__ const int x = 3;
__global__ void k(int* p) { *p = x; }
