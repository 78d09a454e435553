// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 13.5 triangular_solve: how a solution is judged.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <span>
#include <string>
#include <vector>

#include "lab/closeness.hpp"
#include "triangular_solve.hpp"

namespace lab::triangular_solve {

/// The text's system: a lower triangle with 11, 12, 13, … down its columns, and b = 1.
struct text_system {
  static constexpr int kSize = 6;
  std::vector<double> a = std::vector<double>(kSize * kSize);
  std::vector<double> b = std::vector<double>(kSize, 1.0);

  text_system() {
    double next = 11;
    for (std::size_t column = 0; column < kSize; ++column)
      for (std::size_t row = column; row < kSize; ++row) a[column * kSize + row] = next++;
  }
  linear_system view() const { return {kSize, a, kSize, b, 1}; }
};

/// Puts x into A x = b, in long double, and looks at what is left of b.
///
/// The bound: substitution, in whatever order its sums are made, gives the exact solution of a
/// system whose elements are each off by at most (n + 1) roundings of 2^-53. So row i of b - A x is
/// at most (n + 1) * 2^-53 * sum |a[i][j] * x[j]|. The factor 4 leaves a library room to divide by
/// multiplying with a reciprocal, or with the inverse of a small block on the diagonal.
inline comparison check(std::span<const double> x, step which, const linear_system& s) {
  if (x.size() != s.b.size())
    return {false, "x has an array of " + std::to_string(x.size()) + " elements, expected " +
                       std::to_string(s.b.size())};
  const auto n = static_cast<std::size_t>(s.n), lda = static_cast<std::size_t>(s.lda),
             inc = static_cast<std::size_t>(s.increment);
  double worst = 0;  // of a residual, as a part of its bound
  for (std::size_t row = 0; row < n; ++row) {
    long double left = s.b[row * inc], magnitude = 0;
    for (std::size_t column = which == step::lower ? 0 : row;
         column < (which == step::lower ? row + 1 : n); ++column) {
      const long double product = static_cast<long double>(s.a[column * lda + row]) *
                                  static_cast<long double>(x[column * inc]);
      left -= product;
      magnitude += std::fabs(product);
    }
    const double bound =
        4 * (static_cast<double>(n) + 1) * 0x1p-53 * static_cast<double>(magnitude);
    const double residual = std::fabs(static_cast<double>(left));
    if (!(residual <= bound)) {  // a NaN is not
      char text[160];
      std::snprintf(text, sizeof text,
                    "row %zu: x is %.17g, and %.3g of b is left; %.3g is allowed", row,
                    x[row * inc], static_cast<double>(left), bound);
      return {false, text};
    }
    if (bound > 0) worst = std::max(worst, residual / bound);
  }
  for (std::size_t i = 0; i < x.size(); ++i)
    if ((i % inc != 0 || i / inc >= n) && !(x[i] == s.b[i]))
      return {false, "the array of b was changed at [" + std::to_string(i) +
                         "], which does not belong to b"};
  char text[96];
  std::snprintf(text, sizeof text, "A x = b in all %zu rows (%.0f %% of what is allowed is left)",
                n, 100 * worst);
  return {true, text};
}

}  // namespace lab::triangular_solve
