// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 6: `sqrt` is known only when the program runs
#include <cmath>
__constant__ double v = std::sqrt(2.0);
__global__ void k(double* p) { *p = v; }
