// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include <iterator>
__global__ void k(int* p) { int a[3]; *p = std::size(a); }
