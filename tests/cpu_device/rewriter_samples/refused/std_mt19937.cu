// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 6: `std::mt19937` exists only on the host
#include <random>
__global__ void k(int* p) { std::mt19937 g; *p = g(); }
