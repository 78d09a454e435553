// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 06.6 orthogonal_matrix: what the results are compared with, and how far they may be from it.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <limits>
#include <span>
#include <string>

#include "lab/closeness.hpp"
#include "orthogonal_matrix.hpp"

namespace lab::orthogonal_matrix {

/// One entry of A · Aᵀ - I in double.
struct entry {
  double deviation = 0;    ///< its magnitude; infinite for a NaN, and beyond the floats
  double error_bound = 0;  ///< how far a float result may be from it
};

/// The entry in row `row` and column `column`. A product of two floats is exact in double, and the
/// rounding of the sum is 2^29 times finer than that of floats.
///
/// The bound: in floats, each of the n products goes through at most n roundings (its own, and the
/// sums it is part of), each of 2^-24 at most; subtracting the 1 rounds once more. See tolerance().
inline entry reference(std::span<const float> a, std::size_t n, std::size_t row,
                       std::size_t column) {
  double sum = 0, magnitude = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const double product =
        static_cast<double>(a[row * n + i]) * static_cast<double>(a[column * n + i]);
    sum += product;
    magnitude += std::fabs(product);
  }
  const double deviation = std::fabs(sum - (row == column ? 1 : 0));
  if (!(deviation <= static_cast<double>(std::numeric_limits<float>::max())))
    return {std::numeric_limits<double>::infinity(), 0};
  const double roundings = static_cast<double>(n) + 2;
  return {deviation, roundings * 0x1p-24 * (1 + 0x1p-8) * (magnitude + 1)};
}

/// The first of the entries that are farthest from the identity, row after row. In double, so for
/// whole numbers it is exact.
inline result reference_result(std::span<const float> a, std::size_t n) {
  result out;
  for (std::size_t row = 0; row < n; ++row) {
    for (std::size_t column = 0; column < n; ++column) {
      const double deviation = reference(a, n, row, column).deviation;
      if (!(deviation > out.deviation)) continue;
      out.deviation = static_cast<float>(deviation);
      out.row = row, out.column = column;
    }
  }
  out.orthogonal = out.deviation <= tolerance(n);
  return out;
}

/// Is `got` right? The entry that it names must be as far from the identity as it says, no entry of
/// rows 0, stride, 2 * stride, … may be farther, and the answer must be what follows.
inline comparison check(const result& got, std::span<const float> a, std::size_t n,
                        std::size_t row_stride = 1) {
  char text[200];
  if (n != 0 && (got.row >= n || got.column >= n))
    return {false, "there is no row " + std::to_string(got.row) + ", column " +
                       std::to_string(got.column)};
  const entry named = n == 0 ? entry{} : reference(a, n, got.row, got.column);
  if (!inside(got.deviation, named.deviation, {named.error_bound, 0})) {
    std::snprintf(text, sizeof text, "row %zu, column %zu is off by %.9g; the result says %.9g",
                  got.row, got.column, named.deviation, static_cast<double>(got.deviation));
    return {false, text};
  }
  std::size_t checked = 0;
  for (std::size_t row = 0; row < n; row += row_stride, ++checked) {
    for (std::size_t column = 0; column < n; ++column) {
      const entry here = reference(a, n, row, column);
      if (here.deviation - here.error_bound <= static_cast<double>(got.deviation)) continue;
      std::snprintf(text, sizeof text,
                    "row %zu, column %zu is off by %.9g; the result says that row %zu, column %zu "
                    "is farthest off, by %.9g",
                    row, column, here.deviation, got.row, got.column,
                    static_cast<double>(got.deviation));
      return {false, text};
    }
  }
  if (got.orthogonal != (got.deviation <= tolerance(n)))
    return {false, "`orthogonal` does not follow from the deviation"};
  return {true, "no entry is farther off (" + std::to_string(checked) + " of " + std::to_string(n) +
                    " rows checked)"};
}

}  // namespace lab::orthogonal_matrix
