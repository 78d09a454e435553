// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include <functional>
template <class F> __device__ int g(F, int n) { return n; }
__global__ void k(int* p) { *p = g(std::plus<int>{}, 3); }
