// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 5: cannot be `constexpr`
constexpr __managed__ int x = 3;
__global__ void k(int* p) { *p = x; }
