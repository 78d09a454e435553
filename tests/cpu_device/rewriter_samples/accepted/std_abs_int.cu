// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include <cstdlib>
__global__ void k(int* p) { *p = std::abs(*p) + abs(*p); }
