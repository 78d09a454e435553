// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 13.6 lu_solve: systems whose solution is known, and how exact a solution must be.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "lab/closeness.hpp"
#include "lab/random.hpp"
#include "lu_solve.hpp"

namespace lab::lu_solve {

/// What elimination with exchanged rows does to a matrix.
struct elimination {
  double growth = 1;   ///< the largest element that ever appears, in proportion to A's largest
  int zero_pivot = 0;  ///< the first pivot that is 0, counted from 1, or 0
};

/// The elimination on the host. `matrix` is n rows of n elements.
inline elimination eliminate(std::span<const double> matrix, std::size_t n) {
  std::vector<double> a(matrix.begin(), matrix.end());
  const auto larger = [](double x, double y) { return std::max(x, std::fabs(y)); };
  double before = 0;
  for (const double each : a) before = larger(before, each);
  double largest = before;
  elimination out;
  for (std::size_t step = 0; step < n; ++step) {
    std::size_t pivot = step;
    for (std::size_t row = step + 1; row < n; ++row)
      if (std::fabs(a[row * n + step]) > std::fabs(a[pivot * n + step])) pivot = row;
    if (a[pivot * n + step] == 0) {
      if (out.zero_pivot == 0) out.zero_pivot = static_cast<int>(step + 1);
      continue;
    }
    std::swap_ranges(a.begin() + static_cast<std::ptrdiff_t>(step * n),
                     a.begin() + static_cast<std::ptrdiff_t>(step * n + n),
                     a.begin() + static_cast<std::ptrdiff_t>(pivot * n));
    for (std::size_t row = step + 1; row < n; ++row) {
      const double factor = a[row * n + step] / a[step * n + step];
      a[row * n + step] = 0;
      for (std::size_t column = step + 1; column < n; ++column)
        largest = larger(largest, a[row * n + column] -= factor * a[step * n + column]);
    }
  }
  if (before > 0) out.growth = largest / before;
  return out;
}

/// How far an element of A · x may be from b's, for one right-hand side b.
///
/// Elimination in numbers that are rounded gives factors L and U of a matrix near A, and solving
/// with them gives an x that is right for a matrix A + E, where to first order
///
///     |E| <= 3 n u |L| |U|,     u = 2^-53:
///
/// a sum of n products is rounded n times at most, and there are three such sums: in the factors,
/// on the way down with L, on the way up with U. As each step chooses the largest pivot, no element
/// of L is above 1, and none of U above growth · max|A|. So an element of |L| |U| |x| is at most
///
///     n · growth · max|A| · Σ|x|,
///
/// and A · x misses b by 3 n u of that. A · x itself is here made in double, with n + 1 roundings
/// of numbers up to max|A| · Σ|x|, and one of b. The factor 1 + 2^-8 covers the higher orders
/// while n < 2^40.
///
/// The growth is that of our own elimination. Two pivots that are equally large are a choice, and
/// a library may choose the other one: then its growth is another one. In practice it is small;
/// there are matrices for which it is 2^(n-1).
inline double residual_bound(double growth, double largest_a, double sum_of_x, double b,
                             std::size_t n) {
  constexpr double u = std::numeric_limits<double>::epsilon() / 2;
  const auto size = static_cast<double>(n);
  return (1 + 0x1p-8) * u *
         (3 * size * size * growth * largest_a * sum_of_x +   // the solution's
          (size + 1) * largest_a * sum_of_x + std::fabs(b));  // the check's own
}

/// The largest residual of a solution, and what was allowed there.
struct residual_report {
  double largest = 0;
  double allowed = 0;
};

/// Whether one system is solved as it has to be: reported where a pivot is 0, with small residuals
/// elsewhere. `report`, where given, is told the largest residual in proportion to what is allowed.
inline comparison check(const solution& got, std::span<const double> a, std::span<const double> b,
                        std::size_t n, std::size_t right_sides, residual_report* report = nullptr) {
  const elimination expected = eliminate(a, n);
  if (got.zero_pivot != expected.zero_pivot)
    return {false, expected.zero_pivot == 0
                       ? "is reported as singular, with pivot " + std::to_string(got.zero_pivot) +
                             " = 0, but it has a solution"
                       : "pivot " + std::to_string(expected.zero_pivot) +
                             " is 0, but the report says " + std::to_string(got.zero_pivot)};
  if (got.zero_pivot != 0)
    return got.x.empty() ? comparison{true, "pivot " + std::to_string(got.zero_pivot) +
                                                " is 0, and that is reported"}
                         : comparison{false, "is singular, but has been given a solution"};
  if (got.x.size() != n * right_sides)
    return {false, "X has " + std::to_string(got.x.size()) + " elements, expected " +
                       std::to_string(n) + " x " + std::to_string(right_sides)};
  double largest_a = 0;
  for (const double each : a) largest_a = std::max(largest_a, std::fabs(each));
  for (std::size_t side = 0; side < right_sides; ++side) {
    double sum_of_x = 0;
    for (std::size_t i = 0; i < n; ++i) sum_of_x += std::fabs(got.x[i * right_sides + side]);
    for (std::size_t row = 0; row < n; ++row) {
      double product = 0;
      for (std::size_t i = 0; i < n; ++i) product += a[row * n + i] * got.x[i * right_sides + side];
      const double wanted = b[row * right_sides + side];
      const double allowed = residual_bound(expected.growth, largest_a, sum_of_x, wanted, n);
      if (!inside(product, wanted, {.absolute = std::isfinite(allowed) ? allowed : 0}))
        return {false, "row " + std::to_string(row) + ", right-hand side " + std::to_string(side) +
                           ": A x is " + std::to_string(product) + ", b is " +
                           std::to_string(wanted)};
      const double off = std::fabs(product - wanted);
      if (report != nullptr && off * report->allowed >= report->largest * allowed)
        *report = {off, allowed};
    }
  }
  return {true, "A X = B"};
}

/// Numbers from -1 to 1.
inline std::vector<double> random_numbers(std::size_t count, std::uint64_t seed) {
  const auto floats = random_floats(count, seed, -1, 1);
  return {floats.begin(), floats.end()};
}

/// A · X with whole numbers X from -9 to 9, which are given back as well.
struct right_hand_side {
  std::vector<double> b, x;
};
inline right_hand_side make_right_hand_side(std::span<const double> a, std::size_t n,
                                            std::size_t right_sides, std::uint64_t seed) {
  const auto whole = random_ints(n * right_sides, seed, -9, 9);
  right_hand_side out{std::vector<double>(n * right_sides), {whole.begin(), whole.end()}};
  for (std::size_t row = 0; row < n; ++row)
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t side = 0; side < right_sides; ++side)
        out.b[row * right_sides + side] += a[row * n + i] * out.x[i * right_sides + side];
  return out;
}

}  // namespace lab::lu_solve
