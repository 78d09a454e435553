// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 6: `std::accumulate` exists only on the host
#include <numeric>
__global__ void k(int* p) { *p = std::accumulate(p, p + 3, 1); }
