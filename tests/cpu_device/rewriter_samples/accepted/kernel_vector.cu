// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include <vector>
__global__ void k(std::vector<int> p) { }
