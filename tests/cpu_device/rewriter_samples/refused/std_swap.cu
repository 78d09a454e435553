// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 6: `std::swap` exists only on the host
#include <utility>
__global__ void k(int* p) { std::swap(p[0], p[1]); }
