// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include <type_traits>
__global__ void k(float* p) { *p = std::is_constant_evaluated(); *p = std::is_same<int, int>(); *p = std::integral_constant<int, 3>{}; }
