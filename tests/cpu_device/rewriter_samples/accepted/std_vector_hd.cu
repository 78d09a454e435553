// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include <vector>
__host__ __device__ int f(int a) { std::vector<int> v(a); return v[0]; }
