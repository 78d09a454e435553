// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 06.7 commuting_matrices: pairs that commute.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "lab/random.hpp"

namespace lab::commuting_matrices {

/// n x n whole numbers from -2 to 2. With them and polynomial() everything stays below 2^24 while
/// n <= 500: an element of the polynomial is at most 8n + 7, one of a product 2n times that.
inline std::vector<float> whole_numbers(std::size_t n, std::uint64_t seed) {
  const auto ints = random_ints(n * n, seed, -2, 2);
  return {ints.begin(), ints.end()};
}

/// 2A² - 3A + I, in double, rounded to floats at the end. A matrix commutes with its own powers,
/// and so with every sum of them.
inline std::vector<float> polynomial(std::span<const float> a, std::size_t n) {
  std::vector<double> out(n * n);
  for (std::size_t row = 0; row < n; ++row) {
    double* const of_row = out.data() + row * n;
    for (std::size_t i = 0; i < n; ++i) {
      const double factor = a[row * n + i];
      for (std::size_t column = 0; column < n; ++column)
        of_row[column] += 2 * factor * static_cast<double>(a[i * n + column]);
    }
    for (std::size_t column = 0; column < n; ++column)
      of_row[column] -= 3 * static_cast<double>(a[row * n + column]);
    of_row[row] += 1;
  }
  return {out.begin(), out.end()};
}

}  // namespace lab::commuting_matrices
