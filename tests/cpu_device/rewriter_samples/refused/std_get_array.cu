// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 6: `std::get` exists only on the host
#include <array>
__global__ void k(int* p) { std::array<int, 2> a{1, 2}; *p = std::get<0>(a); }
