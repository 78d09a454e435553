// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 6: `std::make_unique` exists only on the host
#include <memory>
__global__ void k(int* p) { auto q = std::make_unique<int>(3); *p = *q; }
