// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include <initializer_list>
__global__ void k(int* p) { for (int x : {1, 2, 3}) *p += x; }
