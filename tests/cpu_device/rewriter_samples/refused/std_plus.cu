// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 6: `std::plus` exists only on the host
#include <functional>
__global__ void k(int* p) { *p = std::plus<int>{}(1, 2); }
