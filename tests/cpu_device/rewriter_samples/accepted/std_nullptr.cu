// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include <cstddef>
__global__ void k(int* p) { std::nullptr_t n = nullptr; *p = n == nullptr; }
