// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
using std::max;
__global__ void k(int* p) { *p = max(p[0], p[1]); }
