// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 6: `std::for_each` exists only on the host
#include <algorithm>
__global__ void k(int* p) { std::for_each(p, p + 3, [](int& x) { x = 1; }); }
