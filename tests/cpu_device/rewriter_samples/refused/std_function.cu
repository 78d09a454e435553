// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 6: `std::function` exists only on the host
#include <functional>
__global__ void k(int* p) { std::function<int()> f = [] { return 1; }; *p = f(); }
