// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Is a product of two matrices right? The answer comes with a sentence.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "lab/closeness.hpp"

namespace lab {

/// One row of C = A · B in double, and how far a result in T may be from each of its elements.
struct row_of_product {
  std::vector<double> value;
  std::vector<double> error_bound;
};

/// Row `row` of A · B, added up in double. A has k columns, B has k rows and n columns; both are
/// row-major.
///
/// The bound: rounding to T moves a number by at most u = 2^-24 of itself (double: 2^-53). On its
/// way into an element of C a product a * b goes through at most k + 1 roundings: its own and those
/// of the k sums that it is part of, in whatever order they are made (a fused multiply-add has
/// fewer). So it arrives off by at most (k + 1) * u * |a * b|, to first order, and the element by
/// (k + 1) * u * sum |a * b|. The reference itself is made with roundings to double, as many:
/// u + 2^-53 stands for both. (A product of two floats is even exact in double: 24 + 24 bits fit
/// into 53.) The factor 1 + 2^-8 covers the higher orders while k < 2^15, and T's smallest step is
/// for products that underflow.
template <class T>
row_of_product multiply_row(std::span<const T> a, std::span<const T> b, std::size_t n,
                            std::size_t k, std::size_t row) {
  row_of_product out{std::vector<double>(n), std::vector<double>(n)};
  for (std::size_t i = 0; i < k; ++i) {  // along the rows of B: they are contiguous
    const double factor = a[row * k + i];
    const T* b_row = b.data() + i * n;
    for (std::size_t column = 0; column < n; ++column) {
      const double product = factor * static_cast<double>(b_row[column]);
      out.value[column] += product;
      out.error_bound[column] += std::fabs(product);
    }
  }
  constexpr double kRounding = std::numeric_limits<T>::epsilon() / 2.0;
  constexpr double kSmallest = std::numeric_limits<T>::denorm_min();
  const double roundings = static_cast<double>(k) + 1;
  for (double& bound : out.error_bound)
    bound = roundings * ((kRounding + 0x1p-53) * (1 + 0x1p-8) * bound + kSmallest);
  return out;
}

/// The bound of multiply_row() is that of sums in float, one product after the other. Multiplied by
/// this, it holds for tensor cores, too, if the products of T's numbers are exact there.
///
/// A tensor core adds g >= 4 products to an accumulator at once. It shifts these g + 1 numbers to
/// the exponent of the largest one, cuts off what is beyond the 24 bits of a float there, and cuts
/// the sum to 24 bits: each of the g + 2 cuts loses at most 2^-23 of a number that is not larger
/// than sum |a * b|. (GPUs keep a few bits more, and how many is not documented: Fasi, Higham,
/// Mikaitis and Pranesh, "Numerical behavior of NVIDIA tensor cores", PeerJ Computer Science 2021.)
/// There are at most k / 4 + 1 groups: (k / 4 + 1) * 6 * 2^-23 = 3 * (k + 4) * u, and
/// multiply_row() has (k + 1) * u.
inline double tensor_core_factor(std::size_t k) {
  return 3 * (static_cast<double>(k) + 4) / (static_cast<double>(k) + 1);
}

/// A stride for the comparisons below, with which the host takes about a second: `work_of_row` is
/// the number of products for a row. Odd, so that it does not hit the same row of every tile of a
/// kernel; 1 if there is little work.
inline std::size_t row_stride(std::size_t rows, std::size_t work_of_row) {
  constexpr std::size_t kWork = std::size_t{1} << 29;
  const std::size_t done = std::max<std::size_t>(kWork / std::max<std::size_t>(work_of_row, 1), 2);
  return ((rows + done - 1) / done) | 1U;
}

/// Compares rows 0, stride, 2 * stride, … of C, and the last one, with the product of A (m x k) and
/// B (k x n). The message says how many elements are wrong and where the first one is. A NaN is
/// right only where the matrices make one: infinity times 0. The bound is `factor` times that of
/// multiply_row().
template <class T>
comparison compare_product(std::span<const T> c, std::span<const T> a, std::span<const T> b,
                           std::size_t m, std::size_t n, std::size_t k, std::size_t row_stride = 1,
                           double factor = 1) {
  if (c.size() != m * n)
    return {false, "C has " + std::to_string(c.size()) + " elements, expected " +
                       std::to_string(m) + " x " + std::to_string(n)};
  std::size_t checked = 0, wrong = 0;
  std::string first;
  for (std::size_t row = 0; row < m;) {
    const row_of_product expected = multiply_row(a, b, n, k, row);
    for (std::size_t column = 0; column < n; ++column) {
      const double got = c[row * n + column], wanted = expected.value[column];
      if (inside(got, wanted, {factor * expected.error_bound[column], 0})) continue;
      if (std::isnan(got) && std::isnan(wanted)) continue;
      if (wrong++ != 0) continue;
      char text[160];
      std::snprintf(text, sizeof text, "first in row %zu, column %zu: got %.*g, expected %.*g%s",
                    row, column, std::numeric_limits<T>::max_digits10, got,
                    std::numeric_limits<T>::max_digits10, wanted,
                    detail::hint_of(c[row * n + column]));
      first = text;
    }
    ++checked;
    row = row + 1 < m && row + row_stride >= m ? m - 1 : row + row_stride;
  }
  if (wrong == 0)
    return {true, detail::rows_match(checked, m) + " (k = " + std::to_string(k) + ")"};
  return {false, std::to_string(wrong) + " of " + std::to_string(checked * n) +
                     " elements differ; " + first};
}

/// The same for an exercise's shape, with m, n and k.
template <class C, class A, class B, class Shape>
comparison compare_product(const C& c, const A& a, const B& b, const Shape& size,
                           std::size_t row_stride = 1) {
  using T = typename C::value_type;
  return compare_product<T>(c, a, b, size.m, size.n, size.k, row_stride);
}

}  // namespace lab
