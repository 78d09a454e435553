// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 6: `std::iota` exists only on the host
#include <numeric>
__global__ void k(int* p) { std::iota(p, p + 3, 1); *p = std::gcd(p[0], p[1]); }
