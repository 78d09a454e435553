// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 6: `std::max` exists only on the host
#include <algorithm>
__global__ void k(int* p) { constexpr int n = std::max(3, 1); *p = n; }
