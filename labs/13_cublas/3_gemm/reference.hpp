// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 13.3 gemm: what the results are compared with, and how far they may be from it.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdio>
#include <span>
#include <string>
#include <vector>

#include "gemm.hpp"
#include "lab/closeness.hpp"

namespace lab::gemm {

inline bool transposes_a(step version) {
  return version == step::transposed_a || version == step::transposed_both;
}
inline bool transposes_b(step version) {
  return version == step::transposed_b || version == step::transposed_both;
}

/// An element of C, and how far a float result may be from it.
struct expectation {
  double value;
  double error_bound;
};

/// A product of two floats is exact in double, and the roundings of the sum are 2^29 times finer
/// than those of floats.
///
/// The bound: a rounding of a float moves a number by at most 2^-24 of itself. A product a * b goes
/// through at most k + 3 of them on its way into C: its own, those of k sums in whatever order, the
/// one by alpha, the sum with beta C. (beta C goes through two.) The factor 1 + 2^-8 covers the
/// higher orders while k < 2^15. A library that used TF32, with 11 bits, would be outside where k
/// is small; for a k of thousands its roundings, which mostly cancel, fit into what is allowed
/// here.
inline expectation reference(step version, float alpha, row_major a, row_major b, float beta,
                             row_major c, std::size_t row, std::size_t column) {
  const std::size_t terms = transposes_a(version) ? a.rows : a.cols;
  double sum = 0, magnitude = 0;
  for (std::size_t i = 0; i < terms; ++i) {
    const double x = transposes_a(version) ? a.data[i * a.pitch + row] : a.data[row * a.pitch + i];
    const double y =
        transposes_b(version) ? b.data[column * b.pitch + i] : b.data[i * b.pitch + column];
    sum += x * y;
    magnitude += std::fabs(x * y);
  }
  const double old = beta == 0 ? 0 : static_cast<double>(beta) * c.data[row * c.pitch + column];
  return {alpha * sum + old, (static_cast<double>(terms) + 3) * 0x1p-24 * (1 + 0x1p-8) *
                                 (std::fabs(alpha) * magnitude + std::fabs(old))};
}

/// Compares every `stride`-th element of the result, and the last one. `exactly`: without any
/// tolerance. What lies between the rows of C must be as it was, bit for bit (for every row).
inline comparison check(std::span<const float> result, step version, float alpha, row_major a,
                        row_major b, float beta, row_major c, bool exactly = false,
                        std::size_t stride = 1) {
  if (result.size() != c.data.size())
    return {false, "C's array has " + std::to_string(result.size()) + " elements, expected " +
                       std::to_string(c.data.size())};
  const std::size_t elements = c.rows * c.cols;
  std::size_t checked = 0, wrong = 0;
  std::string first;
  for (std::size_t i = 0; i < elements;) {
    const std::size_t row = i / c.cols, column = i % c.cols;
    const expectation wanted = reference(version, alpha, a, b, beta, c, row, column);
    const double got = result[row * c.pitch + column];
    ++checked;
    if (!inside(got, wanted.value, {exactly ? 0 : wanted.error_bound, 0}) && wrong++ == 0) {
      char text[160];
      std::snprintf(text, sizeof text, "first in row %zu, column %zu: got %.9g, expected %.9g", row,
                    column, got, wanted.value);
      first = text;
    }
    i = i + 1 < elements && i + stride >= elements ? elements - 1 : i + stride;
  }
  if (wrong != 0)
    return {false, std::to_string(wrong) + " of " + std::to_string(checked) + " elements differ; " +
                       first};
  for (std::size_t i = 0; i < result.size(); ++i) {
    const bool inside_c = c.pitch != 0 && i / c.pitch < c.rows && i % c.pitch < c.cols;
    const bool same = result[i] == c.data[i] || (std::isnan(result[i]) && std::isnan(c.data[i]));
    if (!inside_c && !same)
      return {false, "the array of C was changed at [" + std::to_string(i) +
                         "], which does not belong to C"};
  }
  return {true, (checked == elements ? "all " : "") + std::to_string(checked) + " of " +
                    std::to_string(elements) + " elements match"};
}

}  // namespace lab::gemm
