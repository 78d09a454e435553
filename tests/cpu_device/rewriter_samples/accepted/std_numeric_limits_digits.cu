// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include <limits>
__global__ void k(float* p) { *p = std::numeric_limits<float>::digits; }
