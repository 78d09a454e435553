// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 06.4 matrix_multiply: what the results are compared with, and how far they may be from it.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdio>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "lab/closeness.hpp"
#include "matrix_multiply.hpp"

namespace lab::matrix_multiply {

/// One row of C in double, and how far a result in T may be from each of its elements.
struct reference_row {
  std::vector<double> value;
  std::vector<double> error_bound;
};

/// Row `row` of A · B, added up in double.
///
/// The bound: rounding to T moves a number by at most u = 2^-24 of itself (double: 2^-53). On its
/// way into an element of C a product a * b goes through at most k + 1 roundings: its own and those
/// of the k sums that it is part of (a fused multiply-add has fewer). So it arrives off by at most
/// (k + 1) * u * |a * b|, to first order, and the element by (k + 1) * u * sum |a * b|. The
/// reference itself is made with roundings to double, as many: u + 2^-53 stands for both. The
/// factor 1 + 2^-8 covers the higher orders while k < 2^15, and T's smallest step is for products
/// that underflow.
template <class T>
reference_row reference(std::span<const T> a, std::span<const T> b, shape size, std::size_t row) {
  reference_row out{std::vector<double>(size.n), std::vector<double>(size.n)};
  for (std::size_t i = 0; i < size.k; ++i) {  // along the rows of B: they lie in memory that way
    const double factor = a[row * size.k + i];
    const T* b_row = b.data() + i * size.n;
    for (std::size_t column = 0; column < size.n; ++column) {
      const double product = factor * static_cast<double>(b_row[column]);
      out.value[column] += product;
      out.error_bound[column] += std::fabs(product);
    }
  }
  constexpr double kRounding = std::numeric_limits<T>::epsilon() / 2.0;
  constexpr double kSmallest = std::numeric_limits<T>::denorm_min();
  const auto k = static_cast<double>(size.k);
  for (double& bound : out.error_bound)
    bound = (k + 1) * ((kRounding + 0x1p-53) * (1 + 0x1p-8) * bound + kSmallest);
  return out;
}

/// Compares rows 0, stride, 2 * stride, … of C, and the last one, with the reference. The message
/// says how many elements are wrong and where the first one is.
template <class T>
comparison check(std::span<const T> c, std::span<const T> a, std::span<const T> b, shape size,
                 std::size_t row_stride = 1) {
  if (c.size() != size.m * size.n)
    return {false, "C has " + std::to_string(c.size()) + " elements, expected " +
                       std::to_string(size.m) + " x " + std::to_string(size.n)};
  std::size_t checked = 0, wrong = 0;
  std::string first;
  for (std::size_t row = 0; row < size.m;) {
    const reference_row expected = reference(a, b, size, row);
    for (std::size_t column = 0; column < size.n; ++column) {
      const double got = c[row * size.n + column], wanted = expected.value[column];
      if (lab::inside(got, wanted, {expected.error_bound[column], 0})) continue;
      if (wrong++ != 0) continue;
      char text[160];
      std::snprintf(text, sizeof text, "first in row %zu, column %zu: got %.17g, expected %.17g%s",
                    row, column, got, wanted, std::isnan(got) ? " (never written?)" : "");
      first = text;
    }
    ++checked;
    row = row + 1 < size.m && row + row_stride >= size.m ? size.m - 1 : row + row_stride;
  }
  std::string rows = std::to_string(checked) + " of " + std::to_string(size.m) + " rows";
  if (checked == size.m) rows = "all " + std::to_string(size.m) + " rows";
  if (wrong == 0) return {true, rows + " of C match (k = " + std::to_string(size.k) + ")"};
  return {false, std::to_string(wrong) + " of " + std::to_string(checked * size.n) +
                     " elements differ; " + first};
}

}  // namespace lab::matrix_multiply
