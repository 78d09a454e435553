// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include <utility>
__global__ void k(int* p) { decltype(std::declval<int>()) x = 1; *p = x; }
