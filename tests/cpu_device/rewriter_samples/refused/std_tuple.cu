// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 6: `std::tuple` exists only on the host
#include <tuple>
__global__ void k(int* p) { std::tuple<int, int> s{1, 2}; *p = std::get<0>(s); }
