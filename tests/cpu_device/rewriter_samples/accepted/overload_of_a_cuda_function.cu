// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

namespace ranges {
struct range {
  int low, high;
};
inline range abs(const range& r) { return r.low < 0 ? range{-r.high, -r.low} : r; }
}  // namespace ranges
using namespace ranges;
__global__ void k(int* p) { *p = abs(*p); }
