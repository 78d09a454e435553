// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 7: `v` is a variable of the host (line 6)
#include <vector>
std::vector<int> v(3);
__global__ void k(int* p) { *p = v[0]; }
