// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include <array>
struct s { std::array<int, 3> a; };
__global__ void k(s x, int* p) { s y = x; int* q = (int*)&y; *p = q[0]; }
