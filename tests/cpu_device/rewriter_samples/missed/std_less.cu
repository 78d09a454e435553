// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include <functional>
__global__ void k(int* p) { *p = std::less<>{}(1, 2); }
