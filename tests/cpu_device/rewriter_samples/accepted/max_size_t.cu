// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
using namespace std;
__global__ void k(size_t* p) { *p = max(p[0], p[1]); }
