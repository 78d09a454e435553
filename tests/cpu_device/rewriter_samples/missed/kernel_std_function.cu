// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include <functional>
__global__ void k(std::function<int(int)> f, int* p) { *p = f(1); }
