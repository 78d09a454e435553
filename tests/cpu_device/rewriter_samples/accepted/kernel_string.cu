// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include <string>
__global__ void k(std::string p) { }
void f() { k<<<1, 1>>>("x"); }
