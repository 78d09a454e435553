// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
using namespace std;
struct pair_of { int a; __device__ int get() const { return a; } };
template <class T> __device__ int get(T t) { return t.get(); }
__device__ int next(int a) { return a + 1; }
__global__ void k(int* p) { pair_of q{*p}; *p = next(get(q)); }
