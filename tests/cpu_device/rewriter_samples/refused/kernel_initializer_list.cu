// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 6: kernel `k` takes an initializer_list, which lies on the host
#include <initializer_list>
__global__ void k(std::initializer_list<int> p) { }
