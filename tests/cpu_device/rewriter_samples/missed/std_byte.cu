// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include <cstddef>
__global__ void k(std::byte* p) { *p = std::byte{3}; *p |= std::byte{1}; }
