// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 7: `pi` is a variable of the host
#include <cmath>
const double pi = acos(-1.0);
__global__ void k(double* p) { *p = pi; }
