// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include <utility>
__global__ void k(int* p) { int a = std::move(*p); *p = std::forward<int>(a); }
