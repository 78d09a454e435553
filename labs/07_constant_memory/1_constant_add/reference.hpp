// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 07.1 constant_add: what the results are compared with.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

namespace lab::constant_add {

/// a + b + addend modulo 2^32. Unsigned, since C++ does not say what becomes of an int that
/// overflows. The spans are equally long.
inline std::vector<int> reference(std::span<const int> a, std::span<const int> b, int addend) {
  std::vector<int> sum(a.size());
  std::transform(a.begin(), a.end(), b.begin(), sum.begin(), [addend](int x, int y) {
    return static_cast<int>(static_cast<unsigned>(x) + static_cast<unsigned>(y) +
                            static_cast<unsigned>(addend));
  });
  return sum;
}

/// The same for each addend, one result after the other.
inline std::vector<int> reference_each(std::span<const int> a, std::span<const int> b,
                                       std::span<const int> addends) {
  std::vector<int> sums;
  for (const int addend : addends) {
    const std::vector<int> sum = reference(a, b, addend);
    sums.insert(sums.end(), sum.begin(), sum.end());
  }
  return sums;
}

}  // namespace lab::constant_add
