// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 7: `std::sort` exists only on the host
#include <algorithm>
using namespace std;
__global__ void k(int* p) { sort(p, p + 3); }
