// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 6: `f` is a `std::function`
#include <functional>
__global__ void k(std::function<int(int)> f, int* p) { *p = f(1); }
