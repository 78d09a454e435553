// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 13.2 gemv: what the results are compared with, and how far they may be from it.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdio>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "gemv.hpp"
#include "lab/closeness.hpp"

namespace lab::gemv {

/// The product in double, and how far a float result may be from each of its elements.
struct expectation {
  std::vector<double> value;
  std::vector<double> error_bound;
};

/// A product of two floats is exact in double, and the roundings of the sum are 2^29 times finer
/// than those of floats.
///
/// The bound: a rounding of a float moves a number by at most 2^-24 of itself. A product a * x goes
/// through at most k + 3 of them on its way into y, where k is the length of x: its own, those of k
/// sums in whatever order, the one by alpha, the sum with beta y. (beta y goes through two.) The
/// factor 1 + 2^-8 covers the higher orders while k < 2^15.
inline expectation reference(step version, float alpha, row_major a, std::span<const float> x,
                             float beta, std::span<const float> y) {
  const bool transposed = version == step::transposed;
  const std::size_t length = transposed ? a.cols : a.rows, terms = transposed ? a.rows : a.cols;
  std::vector<double> sum(length), magnitude(length);
  for (std::size_t r = 0; r < a.rows; ++r)
    for (std::size_t c = 0; c < a.cols; ++c) {
      const double product = static_cast<double>(a.data[r * a.pitch + c]) * x[transposed ? r : c];
      sum[transposed ? c : r] += product;
      magnitude[transposed ? c : r] += std::fabs(product);
    }
  expectation out{std::vector<double>(length), std::vector<double>(length)};
  for (std::size_t i = 0; i < length; ++i) {
    const double old = beta == 0 ? 0 : static_cast<double>(beta) * y[i];
    out.value[i] = alpha * sum[i] + old;
    out.error_bound[i] = (static_cast<double>(terms) + 3) * 0x1p-24 * (1 + 0x1p-8) *
                         (std::fabs(alpha) * magnitude[i] + std::fabs(old));
  }
  return out;
}

/// Compares every element with its own bound.
inline comparison check(std::span<const float> y, const expectation& expected) {
  if (y.size() != expected.value.size())
    return {false, "y has " + std::to_string(y.size()) + " elements, expected " +
                       std::to_string(expected.value.size())};
  std::size_t wrong = 0;
  std::string first;
  for (std::size_t i = 0; i < y.size(); ++i) {
    if (inside(y[i], expected.value[i], {expected.error_bound[i], 0}) || wrong++ != 0) continue;
    char text[128];
    std::snprintf(text, sizeof text, "first at [%zu]: got %.9g, expected %.9g", i,
                  static_cast<double>(y[i]), expected.value[i]);
    first = text;
  }
  if (wrong == 0) return {true, "all " + std::to_string(y.size()) + " elements match"};
  return {false,
          std::to_string(wrong) + " of " + std::to_string(y.size()) + " elements differ; " + first};
}

}  // namespace lab::gemv
