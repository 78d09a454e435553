// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 6: `std::copy` exists only on the host
#include <algorithm>
__global__ void k(int* p) { std::copy(p, p + 3, p + 3); }
