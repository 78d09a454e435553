// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

namespace cub {
template <class N, class D>
constexpr N DivideAndRoundUp(N n, D d) {
  return n / static_cast<N>(d) + (n % static_cast<N>(d) != 0 ? 1 : 0);
}
template <int N, int Current = N, int Count = 0>
struct Log2 {
  static constexpr int VALUE = (1 << Count) >= N ? Count : Log2<N, Current, Count + 1>::VALUE;
};
template <int N, int Current>
struct Log2<N, Current, 31> {
  static constexpr int VALUE = 31;
};
}  // namespace cub
