// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include <memory>
__global__ void k(std::unique_ptr<int> p) { }
