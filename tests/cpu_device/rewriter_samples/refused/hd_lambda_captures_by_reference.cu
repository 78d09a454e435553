// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Line 6: captures by reference
template <class F> __global__ void k(F f) { f(); }
int main() { int n = 1; auto l = [&n] __host__ __device__ () { n = 2; }; k<<<1, 1>>>(l); }
