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
#include <utility>
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

/// |T| · v for the triangle T of the system, and |T| the matrix of its absolute values.
inline std::vector<long double> magnitudes_times(step version, const linear_system& s,
                                                 const std::vector<long double>& v) {
  const auto n = static_cast<std::size_t>(s.n), lda = static_cast<std::size_t>(s.lda);
  std::vector<long double> out(n);
  for (std::size_t column = 0; column < n; ++column) {
    const std::size_t first = version == step::lower ? column : 0;
    const std::size_t last = version == step::lower ? n : column + 1;
    for (std::size_t row = first; row < last; ++row)
      out[row] += std::fabs(static_cast<long double>(s.a[column * lda + row])) * v[column];
  }
  return out;
}

/// A vector that is at least |1/T| · v, for v without negative elements: the solution w of the
/// system in which all of T's signs are the worst ones, |t[i][i]| w[i] = v[i] + sum |t[i][j]| w[j].
inline std::vector<long double> inverse_magnitudes_times(step version, const linear_system& s,
                                                         std::vector<long double> v) {
  const auto n = static_cast<std::size_t>(s.n), lda = static_cast<std::size_t>(s.lda);
  for (std::size_t done = 0; done < n; ++done) {
    const std::size_t column = version == step::lower ? done : n - 1 - done;
    v[column] /= std::fabs(static_cast<long double>(s.a[column * lda + column]));
    const std::size_t first = version == step::lower ? column + 1 : 0;
    const std::size_t last = version == step::lower ? n : column;
    for (std::size_t row = first; row < last; ++row)
      v[row] += std::fabs(static_cast<long double>(s.a[column * lda + row])) * v[column];
  }
  return v;
}

/// Puts x into A x = b, in long double, and looks at what is left of b.
///
/// The bound: u = 2^-53. Substitution, in whatever order its sums are made, gives the exact
/// solution of a system whose elements are each off by at most (n + 1) u of themselves, so it
/// leaves at most (n + 1) u |T| |x| of b. A library may also invert blocks on the diagonal, and
/// multiply with those. A computed inverse Z has |Z T - 1| <= (n + 1) u |Z| |T| (or |T Z - 1| <=
/// the same of |T| |Z|), and the product with b has as many roundings again, so what is left is at
/// most
///
///     2 (n + 1) u |T| |1/T| |T| |x|,
///
/// which is the larger one. The factor 1 + 2^-8 covers the higher orders while n < 2^40.
inline comparison check(std::span<const double> x, step version, const linear_system& s) {
  if (x.size() != s.b.size())
    return {false, "x has an array of " + std::to_string(x.size()) + " elements, expected " +
                       std::to_string(s.b.size())};
  const auto n = static_cast<std::size_t>(std::max(s.n, 0)),
             lda = static_cast<std::size_t>(std::max(s.lda, 0)),
             inc = static_cast<std::size_t>(std::max(s.increment, 0));
  if (s.n < 0 || s.lda < s.n || s.increment < 1 ||
      (n > 0 && (s.a.size() < (n - 1) * lda + n || s.b.size() < (n - 1) * inc + 1)))
    return {false, "there is no such system, and yet a solution"};
  std::vector<long double> left(n), magnitude(n);
  for (std::size_t row = 0; row < n; ++row) {
    if (!std::isfinite(x[row * inc]))
      return {false, "row " + std::to_string(row) + ": x is " + std::to_string(x[row * inc])};
    left[row] = s.b[row * inc];
    magnitude[row] = std::fabs(static_cast<long double>(x[row * inc]));
  }
  for (std::size_t column = 0; column < n; ++column) {
    const std::size_t first = version == step::lower ? column : 0;
    const std::size_t last = version == step::lower ? n : column + 1;
    for (std::size_t row = first; row < last; ++row)
      left[row] -= static_cast<long double>(s.a[column * lda + row]) *
                   static_cast<long double>(x[column * inc]);
  }
  magnitude = magnitudes_times(version, s, magnitude);
  magnitude =
      magnitudes_times(version, s, inverse_magnitudes_times(version, s, std::move(magnitude)));
  double worst = 0;  // of a residual, as a part of its bound
  for (std::size_t row = 0; row < n; ++row) {
    const double bound = (1 + 0x1p-8) * 2 * (static_cast<double>(n) + 1) * 0x1p-53 *
                         static_cast<double>(magnitude[row]);
    const double residual = std::fabs(static_cast<double>(left[row]));
    if (!(residual <= bound && std::isfinite(bound))) {
      char text[160];
      std::snprintf(text, sizeof text,
                    "row %zu: x is %.17g, and %.3g of b is left; %.3g is allowed", row,
                    x[row * inc], static_cast<double>(left[row]), bound);
      return {false, text};
    }
    if (bound > 0) worst = std::max(worst, residual / bound);
  }
  for (std::size_t i = 0; i < x.size(); ++i)
    if ((i % inc != 0 || i / inc >= n) && !(x[i] == s.b[i]))
      return {false, "the array of b was changed at [" + std::to_string(i) +
                         "], which does not belong to b"};
  char text[96];
  std::snprintf(text, sizeof text, "A x = b in all %zu rows (%.2g %% of what is allowed is left)",
                n, 100 * worst);
  return {true, text};
}

}  // namespace lab::triangular_solve
