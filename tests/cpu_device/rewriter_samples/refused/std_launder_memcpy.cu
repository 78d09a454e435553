// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 6: `std::memcmp` exists only on the host
#include <cstring>
__global__ void k(int* p) { std::memcmp(p, p, 1); }
