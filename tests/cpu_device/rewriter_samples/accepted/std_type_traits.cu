// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include <type_traits>
__global__ void k(int* p) { *p = std::is_same_v<int, int> + std::is_pod<int>::value + std::conditional_t<true, int, char>(3); }
