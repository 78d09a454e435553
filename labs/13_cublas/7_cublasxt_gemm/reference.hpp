// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 13.7 cublasxt_gemm: what the results are compared with, and how far they may be from it.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdio>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "cublasxt_gemm.hpp"
#include "lab/closeness.hpp"

namespace lab::cublasxt_gemm {

/// One row of C in double, and how far a float result may be from each of its elements.
struct reference_row {
  std::vector<double> value;
  std::vector<double> error_bound;
};

/// A row of numbers times a matrix, in double.
inline std::vector<double> row_times(const std::vector<double>& row, const matrix& m,
                                     bool absolute) {
  std::vector<double> out(m.columns);
  for (std::size_t i = 0; i < m.rows; ++i)
    for (std::size_t column = 0; column < m.columns; ++column) {
      const double element = m.elements[i * m.columns + column];
      out[column] += row[i] * (absolute ? std::fabs(element) : element);
    }
  return out;
}

/// Element (row, column) of op(X).
inline float element(op first, const matrix& x, std::size_t row, std::size_t column) {
  return first == op::none ? x.elements[row * x.columns + column]
                           : x.elements[column * x.columns + row];
}

namespace detail {

/// The bounds below are `roundings` * u * (a sum of absolute values), u = 2^-24, to first order.
/// 1 + 2^-8 covers the higher orders for up to 2^15 roundings and the reference's own, in double;
/// float's smallest step is for products that underflow.
inline void make_bounds(reference_row& out, const std::vector<double>& magnitude,
                        double roundings) {
  for (const double each : magnitude)
    out.error_bound.push_back(roundings *
                              (0x1p-24 * (1 + 0x1p-8) * each +
                               static_cast<double>(std::numeric_limits<float>::denorm_min())));
}

inline std::vector<double> absolute(std::vector<double> row) {
  for (double& each : row) each = std::fabs(each);
  return row;
}

}  // namespace detail

/// Row `row` of op(A) · B. A product goes through k + 1 roundings at most on its way into a sum of
/// k products: its own, and those of the sums that it is part of.
inline reference_row row_of_product(op first, const matrix& a, const matrix& b, std::size_t row) {
  std::vector<double> of_a(b.rows);
  for (std::size_t i = 0; i < b.rows; ++i) of_a[i] = element(first, a, row, i);
  reference_row out{row_times(of_a, b, false), {}};
  detail::make_bounds(out, row_times(detail::absolute(of_a), b, true),
                      static_cast<double>(b.rows) + 1);
  return out;
}

/// Row `row` of op(A + B) · (A · B), which is (that row of op(A + B) · A) · B: so two rows times a
/// matrix are enough, and no product of matrices is needed.
///
/// A term of the result is a (rounded) element of A + B times one of A times one of B. It goes
/// through 1 rounding in A + B, n + 1 in A · B and n + 1 in the second product: 2 n + 3.
inline reference_row row_of_sum_times_product(op first, const matrix& a, const matrix& b,
                                              std::size_t row) {
  std::vector<double> of_sum(a.rows);
  for (std::size_t i = 0; i < a.rows; ++i)
    of_sum[i] = static_cast<double>(element(first, a, row, i)) + element(first, b, row, i);
  reference_row out{row_times(row_times(of_sum, a, false), b, false), {}};
  detail::make_bounds(out, row_times(row_times(detail::absolute(of_sum), a, true), b, true),
                      2 * static_cast<double>(a.rows) + 3);
  return out;
}

/// Compares rows 0, stride, 2 * stride, … of C, and the last one, with what `expected` says of
/// them. The message says how many elements are wrong and where the first one is.
inline comparison check(const matrix& c, std::size_t rows, std::size_t columns,
                        const std::function<reference_row(std::size_t)>& expected,
                        std::size_t row_stride = 1) {
  if (c.rows != rows || c.columns != columns || c.elements.size() != rows * columns)
    return {false, "C is " + std::to_string(c.rows) + " x " + std::to_string(c.columns) + " with " +
                       std::to_string(c.elements.size()) + " elements, expected " +
                       std::to_string(rows) + " x " + std::to_string(columns)};
  std::size_t checked = 0, wrong = 0;
  std::string first;
  for (std::size_t row = 0; row < rows;) {
    const reference_row wanted = expected(row);
    for (std::size_t column = 0; column < columns; ++column) {
      const double got = c.elements[row * columns + column];
      if (inside(got, wanted.value[column], {.absolute = wanted.error_bound[column]})) continue;
      if (wrong++ != 0) continue;
      char text[160];
      std::snprintf(text, sizeof text, "first in row %zu, column %zu: got %.9g, expected %.9g%s",
                    row, column, got, wanted.value[column],
                    lab::detail::hint_of(c.elements[row * columns + column]));
      first = text;
    }
    ++checked;
    row = row + 1 < rows && row + row_stride >= rows ? rows - 1 : row + row_stride;
  }
  if (wrong == 0) return {true, lab::detail::rows_match(checked, rows)};
  return {false, std::to_string(wrong) + " of " + std::to_string(checked * columns) +
                     " elements differ; " + first};
}

}  // namespace lab::cublasxt_gemm
