// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include <memory>
__global__ void k(int* p) { *std::addressof(*p) = 1; }
