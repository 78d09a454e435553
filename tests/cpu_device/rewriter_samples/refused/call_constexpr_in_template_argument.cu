// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 7: `twice` is a function of the host
constexpr int twice(int x) { return 2 * x; }
template <int N> __device__ int f() { return N; }
__global__ void k(float* p) { *p = f<twice(4)>(); static_assert(twice(2) == 4); if constexpr (twice(2) == 4) *p = 1; }
