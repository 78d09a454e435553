// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 06.7 commuting_matrices: what the results are compared with.
#pragma once

#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "commuting_matrices.hpp"
#include "lab/closeness.hpp"

namespace lab::commuting_matrices {

/// Entries that differ for certain, and entries that may: the two are equal for whole numbers. For
/// others there may be entries so near to the limit that a float result can fall on either side.
struct expectation {
  std::size_t least = 0;
  std::size_t most = 0;
};

/// In double: a product of two floats is exact in it, and the rounding of a sum is 2^29 times finer
/// than that of floats.
///
/// The margin: a float result for |ab - ba| is at most rounding_allowance(n) times the magnitude
/// from the exact one (see there), and so is the rounding of the limit itself. `relative` = 0
/// stands for whole numbers, where nothing is rounded: no margin.
inline expectation reference(std::span<const float> a, std::span<const float> b, std::size_t n,
                             float relative) {
  constexpr double kLargest = std::numeric_limits<float>::max();
  const double margin = relative == 0 ? 0 : rounding_allowance(n);
  expectation out;
  std::vector<double> difference(n), magnitude(n);
  for (std::size_t row = 0; row < n; ++row) {
    difference.assign(n, 0);
    magnitude.assign(n, 0);
    for (std::size_t i = 0; i < n; ++i) {  // along the rows of A and B: they lie in memory that way
      const double from_a = a[row * n + i], from_b = b[row * n + i];
      for (std::size_t column = 0; column < n; ++column) {
        const double ab = from_a * static_cast<double>(b[i * n + column]);
        const double ba = from_b * static_cast<double>(a[i * n + column]);
        difference[column] += ab - ba;
        magnitude[column] += std::fabs(ab) + std::fabs(ba);
      }
    }
    for (std::size_t column = 0; column < n; ++column) {
      const double off = std::fabs(difference[column]), size = magnitude[column];
      const bool numbers = size <= kLargest;  // not NaN either
      if (!(numbers && off <= (relative + margin) * size)) ++out.least;
      if (!(numbers && off <= (relative - margin) * size)) ++out.most;
    }
  }
  return out;
}

inline comparison check(std::size_t differing, expectation expected) {
  if (differing >= expected.least && differing <= expected.most)
    return {true, std::to_string(differing) + " entries differ, as in double"};
  std::string wanted = std::to_string(expected.least);
  if (expected.most != expected.least) wanted += " to " + std::to_string(expected.most);
  return {false, std::to_string(differing) + " entries are said to differ, expected " + wanted};
}

}  // namespace lab::commuting_matrices
