// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 18.1 wmma_product: what the results are compared with, and how far they may be from it.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <vector>

#include "lab/matrix_closeness.hpp"
#include "wmma_product.hpp"

namespace lab::wmma_product {

/// The half that is nearest to x, ties to the even one. A half has 11 bits, the first of which is
/// not stored; its smallest step is 2^-24, its largest finite number 65504.
inline float round_to_half(float x) {
  if (std::isnan(x) || std::isinf(x) || x == 0) return x;
  const int exponent = std::max(std::ilogb(x), -14);  // below 2^-14 the steps get no smaller
  const double step = std::ldexp(1.0, exponent - 10);
  const double rounded = std::nearbyint(static_cast<double>(x) / step) * step;
  if (std::fabs(rounded) > 65504) return std::copysign(std::numeric_limits<float>::infinity(), x);
  return static_cast<float>(rounded);
}

inline std::vector<float> round_to_half(std::span<const float> values) {
  std::vector<float> rounded(values.size());
  std::transform(values.begin(), values.end(), rounded.begin(),
                 [](float x) { return round_to_half(x); });
  return rounded;
}

/// Compares rows 0, stride, 2 * stride, … of C, and the last one, with the product in double of the
/// *rounded* matrices. The rounding of A and B is part of the contract, so it needs no tolerance:
/// both sides round to the same halves. A product of two halves has 22 bits, and fits into a float.
/// What is left are the sums in float, as tensor cores make them: tensor_core_factor() in
/// lab/matrix_closeness.hpp.
inline comparison check(std::span<const float> c, std::span<const float> a,
                        std::span<const float> b, shape size, std::size_t row_stride = 1) {
  const std::vector<float> half_a = round_to_half(a), half_b = round_to_half(b);
  return compare_product<float>(c, half_a, half_b, size.m, size.n, size.k, row_stride,
                                tensor_core_factor(size.k));
}

/// How far C is from the product of the matrices as they were given.
struct deviation {
  double largest = 0;    ///< |error| / sum |a * b|, the largest of all that were looked at
  double predicted = 0;  ///< what it is at most
};

/// The error that the rounding of A and B makes, relative to sum |a * b|, in rows 0, stride, … of
/// C. Rounding to half moves a number by at most u = 2^-11 of itself. A product of two of them is
/// off by at most 2u + u^2 of itself, and so is a sum of products, relative to the sum of their
/// sizes. (Numbers below 2^-14 have larger relative errors: they are moved by up to 2^-25.) To this
/// the bound of check() is added.
inline deviation error_of_rounding(std::span<const float> c, std::span<const float> a,
                                   std::span<const float> b, shape size, std::size_t row_stride) {
  constexpr double u = 0x1p-11;
  const double sums = 3 * (static_cast<double>(size.k) + 4) * 0x1p-24;
  deviation worst{0, 2 * u + u * u + sums};
  for (std::size_t row = 0; row < size.m; row += row_stride) {
    std::vector<double> exact(size.n), sizes(size.n);
    for (std::size_t i = 0; i < size.k; ++i)
      for (std::size_t column = 0; column < size.n; ++column) {
        const double product = static_cast<double>(a[row * size.k + i]) * b[i * size.n + column];
        exact[column] += product;
        sizes[column] += std::fabs(product);
      }
    for (std::size_t column = 0; column < size.n; ++column)
      if (sizes[column] > 0)
        worst.largest = std::max(
            worst.largest, std::fabs(c[row * size.n + column] - exact[column]) / sizes[column]);
  }
  return worst;
}

}  // namespace lab::wmma_product
