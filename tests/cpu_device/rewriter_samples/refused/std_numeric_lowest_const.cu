// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 6: `std::numeric_limits` exists only on the host
#include <limits>
__global__ void k(float* p) { const float m = -std::numeric_limits<float>::infinity(); *p = m; }
