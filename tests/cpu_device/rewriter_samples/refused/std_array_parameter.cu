// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 6: the members of `std::array` are functions of the host
#include <array>
__global__ void k(int* p, std::array<int, 3> v) { *p = v[threadIdx.x]; }
