// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 6: `std::sort` exists only on the host
#include <algorithm>
__global__ void k(int* p) { std::sort(p, p + 3); }
