// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 6: `std::popcount` exists only on the host
#include <bit>
__global__ void k(unsigned* p) { *p = std::popcount(*p); }
