// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 7: `std::swap` exists only on the host
#include <algorithm>
using namespace std;
__global__ void k(unsigned char* p) { *p = max(p[0], p[1]); swap(p[0], p[1]); }
