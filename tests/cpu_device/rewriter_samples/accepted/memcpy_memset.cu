// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include <cstring>
__global__ void k(char* p) { memcpy(p, p + 3, 3); memset(p, 0, 3); std::memcpy(p, p + 3, 2); std::memset(p, 0, 4); }
