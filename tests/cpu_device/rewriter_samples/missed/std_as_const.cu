// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include <utility>
__global__ void k(int* p) { *p = std::as_const(*p); }
