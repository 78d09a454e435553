// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 6: `std::hypot` exists only on the host
#include <cmath>
__global__ void k(float* p) { *p = std::hypot(*p, *p, 1.f); }
