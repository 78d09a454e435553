// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 18.4 split_product: what the results are compared with, how far they may be from it, and how far
// they are.
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
#include "split_product.hpp"

namespace lab::split_product {

/// The largest error of a step, in units of u * S: u = 2^-24, S = sum |a * b|.
///
/// *The pieces.* bfloat16 has 8 digits, so rounding moves a number by at most v = 2^-8 of itself.
/// After the first piece of a at most v * |a| is left, after the second one v^2 * |a|, after the
/// third one nothing: three times 8 digits are the 24 of a float. Leaving pieces and products out
/// moves a * b by at most
///     one:   what was rounded off a, times b, the other way round, and both:  2 v + v^2
///     three: a without its third piece, times b, the other way round; a1 b1:  3 v^2 (1 + v)^2
///     six:   a1 b2 and a2 b1; a2 b2:                                          2 v^3 (1 + v) + v^4
/// of itself. In units of u = v^3: 131328; below 775; below 2.1.
///
/// *The tensor core* adds the products of 16 elements of k. It is not documented how. What is known
/// (Fasi, Higham, Mikaitis and Pranesh, "Numerical behavior of NVIDIA tensor cores", PeerJ Computer
/// Science 2021): products are exact; g >= 4 of them are added to the accumulator at once, after
/// all were shifted to the exponent of the largest one, and what is beyond 24 digits is cut off, or
/// a few digits later. So each of g + 2 cuts loses at most 2^-23 = 2 u of a number that is at most
/// S of these 16. With g = 4: 4 groups * 6 cuts * 2 u = 48 u for the largest product. The other
/// five come before it, and what they add up is below 2^-6 S: less than 1 u more. (The CPU device
/// adds in float, product by product: 96 roundings, of which only the last 16 are of numbers that
/// large.)
///
/// *Outside*, one addition in float for each 16 elements of k: k / 16, rounded up.
inline double error_bound(step version, std::size_t k) {
  const double of_products = version == step::one_product      ? 131073 + 256
                             : version == step::three_products ? 775
                                                               : 3;
  return of_products + 50 + std::ceil(static_cast<double>(k) / 16);
}

/// 1 + 2^-8, less a little: the first piece is 1, the second one almost 2^-8, the third one almost
/// 2^-17, all positive. No other float loses more by rounding to bfloat16, once or twice.
inline constexpr float kHardToSplit = 1 + 255 * 0x1p-16F + 0x1p-17F - 0x1p-23F;

/// Some rows of C in double, with S of each element, and the largest elements of A's row and B's
/// column.
struct exact_row {
  std::vector<double> value, size;
  double largest_a = 0;
};
inline exact_row multiply_row(std::span<const float> a, std::span<const float> b, shape size,
                              std::size_t row) {
  exact_row out{std::vector<double>(size.n), std::vector<double>(size.n)};
  for (std::size_t i = 0; i < size.k; ++i) {
    const double factor = static_cast<double>(a[row * size.k + i]);
    out.largest_a = std::max(out.largest_a, std::fabs(factor));
    for (std::size_t column = 0; column < size.n; ++column) {
      const double product = factor * static_cast<double>(b[i * size.n + column]);
      out.value[column] += product;  // a product of two floats is exact in double
      out.size[column] += std::fabs(product);
    }
  }
  return out;
}
inline std::vector<double> largest_of_columns(std::span<const float> b, shape size) {
  std::vector<double> largest(size.n);
  for (std::size_t i = 0; i < size.k; ++i)
    for (std::size_t column = 0; column < size.n; ++column)
      largest[column] =
          std::max(largest[column], std::fabs(static_cast<double>(b[i * size.n + column])));
  return largest;
}

/// Whether `got` is the sum `exact`, to the bound. One that is too large for a float is an
/// infinity; near the largest float it may be either.
inline bool is_close(float got, double exact, double allowed) {
  if (std::isnan(exact)) return std::isnan(got);
  if (std::isinf(exact)) return got == static_cast<float>(exact);
  constexpr double kLargest = std::numeric_limits<float>::max();
  if (std::isinf(got)) return std::fabs(exact) + allowed > kLargest && (got > 0) == (exact > 0);
  return std::fabs(static_cast<double>(got) - exact) <= allowed;
}

/// Compares rows 0, stride, 2 * stride, … of C, and the last one.
///
/// To error_bound() is added what the host rounds, (k + 1) * 2^-53 * S; 2^-149, since a result
/// below 2^-126 is rounded to a multiple of that; and what is lost of elements that are smaller
/// than 2^-160 times the largest one of their row (column): less than 2^-176 of it, times the other
/// factor, for each of both and each of k.
inline comparison check(step version, std::span<const float> c, std::span<const float> a,
                        std::span<const float> b, shape size, std::size_t row_stride = 1) {
  if (c.size() != size.m * size.n)
    return {false, "C has " + std::to_string(c.size()) + " elements, expected " +
                       std::to_string(size.m) + " x " + std::to_string(size.n)};
  const double k = static_cast<double>(size.k);
  const double relative = error_bound(version, size.k) * 0x1p-24 + (k + 1) * 0x1p-53;
  const std::vector<double> largest_b = largest_of_columns(b, size);
  std::size_t checked = 0, wrong = 0;
  std::string first;
  for (std::size_t row = 0; row < size.m;) {
    const exact_row expected = multiply_row(a, b, size, row);
    for (std::size_t column = 0; column < size.n; ++column) {
      const double allowed = relative * expected.size[column] + 0x1p-149 +
                             k * 0x1p-175 * expected.largest_a * largest_b[column];
      const float got = c[row * size.n + column];
      if (is_close(got, expected.value[column], allowed)) continue;
      if (wrong++ != 0) continue;
      char text[160];
      std::snprintf(text, sizeof text, "first in row %zu, column %zu: got %.9g, expected %.9g%s",
                    row, column, static_cast<double>(got), expected.value[column],
                    lab::detail::hint_of(got));
      first = text;
    }
    ++checked;
    row = row + 1 < size.m && row + row_stride >= size.m ? size.m - 1 : row + row_stride;
  }
  if (wrong == 0)
    return {true,
            lab::detail::rows_match(checked, size.m) + " (k = " + std::to_string(size.k) + ")"};
  return {false, std::to_string(wrong) + " of " + std::to_string(checked * size.n) +
                     " elements differ; " + first};
}

/// The largest error in rows 0, stride, … of C, in units of u * S.
inline double largest_error(std::span<const float> c, std::span<const float> a,
                            std::span<const float> b, shape size, std::size_t row_stride = 1) {
  double largest = 0;
  for (std::size_t row = 0; row < size.m; row += row_stride) {
    const exact_row expected = multiply_row(a, b, size, row);
    for (std::size_t column = 0; column < size.n; ++column) {
      const double got = static_cast<double>(c[row * size.n + column]);
      if (expected.size[column] > 0)
        largest = std::max(
            largest, std::fabs(got - expected.value[column]) / expected.size[column] * 0x1p24);
    }
  }
  return largest;
}

/// C in float, by one fused multiply-add after the other, as 06.5 does it; rows that are left out
/// are 0.
inline std::vector<float> float_product(std::span<const float> a, std::span<const float> b,
                                        shape size, std::size_t row_stride = 1) {
  std::vector<float> c(size.m * size.n);
  for (std::size_t row = 0; row < size.m; row += row_stride)
    for (std::size_t i = 0; i < size.k; ++i)
      for (std::size_t column = 0; column < size.n; ++column) {
        // The product is exact in double, and rounding their sum to double first makes a difference
        // only in one of some 2^29 cases.
        float& sum = c[row * size.n + column];
        sum = static_cast<float>(static_cast<double>(a[row * size.k + i]) *
                                     static_cast<double>(b[i * size.n + column]) +
                                 static_cast<double>(sum));
      }
  return c;
}

}  // namespace lab::split_product
