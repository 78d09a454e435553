// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 6: `std::pair` exists only on the host
#include <utility>
__global__ void k(int* p) { std::pair<int, int> s{1, 2}; *p = s.first; }
