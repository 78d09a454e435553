// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 6: `std::begin` exists only on the host
#include <iterator>
__global__ void k(int* p) { int a[3] = {}; *p = *std::begin(a); }
