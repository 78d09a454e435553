// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 6: the members of `std::string_view` are functions of the host
#include <string_view>
__global__ void k(int* p) { std::string_view s = "x"; *p = s.size(); }
