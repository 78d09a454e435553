// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 6: `std::addressof` exists only on the host
#include <memory>
__global__ void k(int* p) { *std::addressof(*p) = 1; }
