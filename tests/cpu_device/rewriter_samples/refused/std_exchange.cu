// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 6: `std::exchange` exists only on the host
#include <utility>
__global__ void k(int* p) { *p = std::exchange(p[1], 3); }
