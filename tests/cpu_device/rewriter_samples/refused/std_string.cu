// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 6: `std::string` exists only on the host
#include <string>
__global__ void k(int* p) { std::string s = "x"; *p = s[0]; }
