// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include <cuda/std/array>
__global__ void k(int* p) { cuda::std::array<int, 2> a{1, 2}; *p = a[0]; }
