// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 03.1 vector_add: what the results are compared with.
#pragma once

#include <algorithm>
#include <functional>
#include <span>
#include <vector>

namespace lab::vector_add {

/// a + b on the host. The spans are equally long.
inline std::vector<float> reference(std::span<const float> a, std::span<const float> b) {
  std::vector<float> sum(a.size());
  std::transform(a.begin(), a.end(), b.begin(), sum.begin(), std::plus<>{});
  return sum;
}

}  // namespace lab::vector_add
