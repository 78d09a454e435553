// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 6: `std::vector` exists only on the host
#include <vector>
__global__ void k(int* p) { std::vector<int> v(3); *p = v[0]; }
