// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 03.3 gram_schmidt: is a result right, and how far may it be off?
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <span>
#include <sstream>
#include <vector>

#include "gram_schmidt.hpp"
#include "lab/closeness.hpp"

namespace lab::gram_schmidt {

using wide_vector = std::vector<double>;

inline double dot(const wide_vector& x, const wide_vector& y) {
  return std::inner_product(x.begin(), x.end(), y.begin(), 0.0);
}
inline void add(wide_vector& x, double factor, const wide_vector& y) {
  for (std::size_t i = 0; i < x.size(); ++i) x[i] += factor * y[i];
}
inline std::vector<wide_vector> rows_of(std::span<const float> values, std::size_t count,
                                        std::size_t length) {
  std::vector<wide_vector> rows(count);
  for (std::size_t i = 0; i < count; ++i)
    rows[i].assign(values.begin() + static_cast<std::ptrdiff_t>(i * length),
                   values.begin() + static_cast<std::ptrdiff_t>((i + 1) * length));
  return rows;
}

/// b_j in double, from a_j and the b before it: what the step would make of them without rounding.
inline wide_vector next_vector(step version, const wide_vector& a_j,
                               const std::vector<wide_vector>& b, std::size_t j) {
  wide_vector v = a_j;
  for (std::size_t k = 0; k < j; ++k)
    add(v, -dot(version == step::classical ? a_j : v, b[k]) / dot(b[k], b[k]), b[k]);
  return v;
}

/// How far b_j may be from next_vector(), as a part of the length of a_j.
///
/// A rounding of a float is at most 2^-24 of what is rounded, and nothing here is longer than a_j.
/// A coefficient goes through the sum of a thread (length / 256 terms, if 256 threads share them)
/// and three roundings more: the product's, the thread's result's and its own. It is wrong in one
/// direction, that of b_k, and the directions of `count` of them are perpendicular: together they
/// count as the square root of count. Then each projection rounds a product and a difference.
inline double rounding_bound(std::size_t count, std::size_t length) {
  const auto projections = static_cast<double>(count);
  const double coefficient = std::ceil(static_cast<double>(length) / 256) + 3;
  return (coefficient * std::sqrt(projections) + 2 * projections) * 0x1p-24;
}

/// The condition of the vectors, each taken with length 1: how much larger an error can become
/// relative to what is left of a vector, when its projections are taken away. 1 for orthogonal
/// vectors, infinite for dependent ones. (By Frobenius norms of a triangular matrix R and its
/// inverse: at most `count` times more than it need be.)
inline double condition(std::vector<wide_vector> a) {
  const std::size_t count = a.size();
  std::vector<wide_vector> r(count, wide_vector(count)), inverse = r;
  double squares = 0;
  for (std::size_t j = 0; j < count; ++j) {
    wide_vector& v = a[j];  // becomes orthogonal to those before it, with length 1
    const double length = std::sqrt(dot(v, v));
    for (double& component : v) component /= length;
    for (int pass = 0; pass < 2; ++pass)  // once more, for the last digits
      for (std::size_t i = 0; i < j; ++i) {
        const double share = dot(v, a[i]);
        r[i][j] += share;
        add(v, -share, a[i]);
      }
    r[j][j] = std::sqrt(dot(v, v));
    for (double& component : v) component /= r[j][j];

    inverse[j][j] = 1 / r[j][j];
    for (std::size_t i = 0; i < j; ++i) {
      double sum = 0;
      for (std::size_t k = i; k < j; ++k) sum += inverse[i][k] * r[k][j];
      inverse[i][j] = -sum / r[j][j];
    }
    for (std::size_t i = 0; i <= j; ++i) squares += inverse[i][j] * inverse[i][j];
  }
  return std::sqrt(static_cast<double>(count) * squares);
}

/// How large the cosine of the angle between two results may be. From the theory of rounding
/// errors: the modified step loses digits in proportion to the condition (A. Bjorck, 1967), the
/// classical one in proportion to its square (L. Giraud, J. Langou, M. Rozloznik, 2005). From 1 on
/// that is no promise at all.
inline double cosine_bound(step version, std::span<const float> a, std::size_t count,
                           std::size_t length) {
  const double k = condition(rows_of(a, count, length));
  return rounding_bound(count, length) * (version == step::classical ? k * k : k);
}

/// The largest |cosine| of the angle between two of the vectors; NaN if one has no direction.
inline double largest_cosine(std::span<const float> b, std::size_t count, std::size_t length) {
  const auto rows = rows_of(b, count, length);
  double largest = 0;
  for (std::size_t i = 0; i < count; ++i)
    for (std::size_t j = 0; j <= i; ++j) {
      const double cosine = std::fabs(dot(rows[i], rows[j])) /
                            std::sqrt(dot(rows[i], rows[i]) * dot(rows[j], rows[j]));
      if (std::isnan(cosine)) return cosine;
      if (i != j) largest = std::max(largest, cosine);
    }
  return largest;
}

/// Is `b` what `version` may make of the linearly independent vectors `a`? Each b_j must be what
/// the definition says, given the b before it (so the span is right, too), and the b must be
/// orthogonal.
inline comparison check(step version, std::span<const float> a, std::span<const float> b,
                        std::size_t count, std::size_t length) {
  if (b.size() != a.size()) return compare_exact(b, a);  // says so
  const auto given = rows_of(a, count, length), found = rows_of(b, count, length);
  for (std::size_t j = 0; j < count; ++j) {
    wide_vector difference = next_vector(version, given[j], found, j);
    add(difference, -1, found[j]);
    const double error = std::sqrt(dot(difference, difference) / dot(given[j], given[j]));
    const double allowed = rounding_bound(count, length);
    if (!(error <= allowed) || !(dot(found[j], found[j]) > 0)) {
      std::ostringstream message;
      message << "b[" << j << "] is not a[" << j << "] less its projections: it is off by " << error
              << " of the length of a[" << j << "], and " << allowed << " is allowed";
      return {false, message.str()};
    }
  }
  const double cosine = largest_cosine(b, count, length);
  const double bound = cosine_bound(version, a, count, length);
  std::ostringstream message;
  message << "all " << count << " vectors are what they should be; ";
  if (bound >= 1)
    message << "for such vectors this step cannot promise that they are orthogonal";
  else
    message << "the largest cosine is " << cosine << ", and " << bound << " is allowed";
  return {cosine <= bound, message.str()};
}

/// The homework's vectors: a_0 = (1, 1, 1, …), a_1 = (0, 1, 1, …), … a_(n-1) = (0, …, 0, 1).
inline std::vector<float> staircase(std::size_t n) {
  std::vector<float> a(n * n);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t k = i; k < n; ++k) a[i * n + k] = 1;
  return a;
}

/// What becomes of them. a_i differs from a_(i-1) only at index i - 1, so b_i is what is left of
/// a_i's ones when the mean of the elements from i - 1 on is taken away: with m = n - i ones left,
/// it is -m / (m + 1) at index i - 1 and 1 / (m + 1) after it.
inline std::vector<double> staircase_result(std::size_t n) {
  std::vector<double> b(n * n);
  for (std::size_t k = 0; k < n; ++k) b[k] = 1;
  for (std::size_t i = 1; i < n; ++i) {
    const double m = static_cast<double>(n - i);
    b[i * n + i - 1] = -m / (m + 1);
    for (std::size_t k = i; k < n; ++k) b[i * n + k] = 1 / (m + 1);
  }
  return b;
}

/// Three vectors that are nearly parallel, (1, e, 0, 0), (1, 0, e, 0), (1, 0, 0, e), with e so
/// small that 1 + e * e is 1 in float.
inline std::vector<float> nearly_parallel() {
  constexpr float e = 0x1p-13F;
  return {1, e, 0, 0, 1, 0, e, 0, 1, 0, 0, e};
}

}  // namespace lab::gram_schmidt
