// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include <vector>
std::vector<int> v(3);
__global__ void k(int* p) { *p = v[0]; }
