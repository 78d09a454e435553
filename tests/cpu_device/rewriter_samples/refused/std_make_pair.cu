// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 6: `std::make_pair` exists only on the host
#include <utility>
__global__ void k(int* p) { auto s = std::make_pair(1, 2); *p = s.first; }
