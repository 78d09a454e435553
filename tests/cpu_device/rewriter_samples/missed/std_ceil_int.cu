// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include <cmath>
__global__ void k(int* p) { *p = std::ceil(*p) + ceil(*p) + sqrt((double)*p); }
