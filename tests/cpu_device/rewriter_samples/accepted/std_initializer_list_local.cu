// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include <initializer_list>
__global__ void k(int* p) { std::initializer_list<int> l = {1, 2}; *p = *l.begin(); }
