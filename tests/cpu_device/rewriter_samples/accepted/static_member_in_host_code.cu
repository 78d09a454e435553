// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

struct s {
  static int made;
  static constexpr int n = 3;
  int a;
  s() : a(++made) {}
  __device__ int get() const { int made = a; return made * n; }
};
int s::made = 0;
__global__ void k(s p, int* q) { *q = p.get() + s::n + static_cast<int>(sizeof(s::made)); }
