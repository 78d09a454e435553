// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 6: the members of `std::span` are functions of the host
#include <span>
__global__ void k(std::span<int> s) { s[0] = 1; }
