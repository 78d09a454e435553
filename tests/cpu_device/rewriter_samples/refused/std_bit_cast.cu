// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 6: `std::bit_cast` exists only on the host
#include <bit>
__global__ void k(int* p) { *p = std::bit_cast<int>(1.f); }
