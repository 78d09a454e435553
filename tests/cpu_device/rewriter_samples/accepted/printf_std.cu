// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include <cstdio>
__global__ void k(size_t* p) { std::printf("x"); }
