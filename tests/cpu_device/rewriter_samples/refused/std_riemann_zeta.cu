// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 6: `std::riemann_zeta` exists only on the host
#include <cmath>
__global__ void k(float* p) { *p = std::riemann_zeta(2.0); }
