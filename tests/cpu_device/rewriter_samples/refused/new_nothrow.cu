// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 6: `std::nothrow` exists only on the host
#include <new>
__global__ void k(int** p) { *p = new (std::nothrow) int; }
