// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 06.3 matrix_add: what the results are compared with.
#pragma once

#include <algorithm>
#include <functional>
#include <span>
#include <vector>

namespace lab::matrix_add {

/// a + b on the host. Both have the same shape, so it does not matter which: each element is added
/// to the one at the same place.
inline std::vector<float> reference(std::span<const float> a, std::span<const float> b) {
  std::vector<float> sum(a.size());
  std::transform(a.begin(), a.end(), b.begin(), sum.begin(), std::plus<>{});
  return sum;
}

}  // namespace lab::matrix_add
