// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 6: `std::as_const` exists only on the host
#include <utility>
__global__ void k(int* p) { *p = std::as_const(*p); }
