// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include <cstdint>
__global__ void k(std::uint32_t* p) { *p = std::uint32_t{3}; std::size_t x = sizeof(int); *p = x; std::ptrdiff_t y = 1; *p += y; }
