// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 6: `std::fpclassify` exists only on the host
#include <cmath>
__global__ void k(float* p) { *p = std::fpclassify(*p); }
