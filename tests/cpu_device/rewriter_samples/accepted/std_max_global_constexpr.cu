// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
constexpr int n = std::max(3, 1);
__global__ void k(int* p) { *p = n; }
