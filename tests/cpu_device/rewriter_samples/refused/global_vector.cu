// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 7: `total` is a variable of the host (line 6)
#include <vector>
std::vector<int> total;
__global__ void k(int* p) { *p = total[0]; }
