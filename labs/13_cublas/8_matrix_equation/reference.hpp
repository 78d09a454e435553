// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 13.8 matrix_equation: the left side of the equation, and how near to B it must come.
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
#include "matrix_equation.hpp"

namespace lab::matrix_equation {

/// U · M, where only the upper triangle of U (n x n) counts, and M has n rows of `columns`.
inline std::vector<double> upper_times(std::span<const double> u, std::span<const double> m,
                                       shape size) {
  std::vector<double> out(size.n * size.columns);
  for (std::size_t row = 0; row < size.n; ++row)
    for (std::size_t i = row; i < size.n; ++i)
      for (std::size_t column = 0; column < size.columns; ++column)
        out[row * size.columns + column] += u[row * size.n + i] * m[i * size.columns + column];
  return out;
}

/// A + C.
inline std::vector<double> sum_of(std::span<const double> a, std::span<const double> c) {
  std::vector<double> out(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) out[i] = a[i] + c[i];
  return out;
}

/// α · (A + C) · C · X.
inline std::vector<double> left_side(double alpha, std::span<const double> a,
                                     std::span<const double> c, std::span<const double> x,
                                     shape size) {
  auto out = upper_times(sum_of(a, c), upper_times(c, x, size), size);
  for (double& each : out) each *= alpha;
  return out;
}

/// The largest sum of absolute values in a row; of the upper triangle where `upper`.
inline double norm(std::span<const double> m, std::size_t rows, std::size_t columns, bool upper) {
  double largest = 0;
  for (std::size_t row = 0; row < rows; ++row) {
    double sum = 0;
    for (std::size_t i = upper ? row : 0; i < columns; ++i) sum += std::fabs(m[row * columns + i]);
    largest = std::max(largest, sum);
  }
  return largest;
}

/// How far an element of the left side may be from one of B, which is `b`.
///
/// Solving with a triangular matrix T from row to row gives what is right for T + E, where to first
/// order |E| <= n u |T|, u = 2^-53: no element of T goes through more than n roundings. A library
/// may also invert blocks of the diagonal and multiply with those. Then |E| <= n u |T| |1/T| |T|.
/// In matrices whose diagonal elements are at least twice the rest of their rows together, as
/// those of well_conditioned(), the rows of |1/T| |T| add up to 3 at most. So in norms (largest
/// sums of a row), 4 n u |T| stands for both, and the two solutions miss B by
///
///     8 n u · |α| |A + C| |C| |X|.
///
/// The sum A + C, the factor 1/α and its product with B are three more roundings. The left side is
/// here made in double, with another 2 n + 2 roundings. The factor 1 + 2^-8 covers the higher
/// orders while n < 2^40.
inline double residual_bound(double alpha, double norm_of_sum, double norm_of_c, double norm_of_x,
                             double b, std::size_t n) {
  constexpr double u = std::numeric_limits<double>::epsilon() / 2;
  const auto size = static_cast<double>(n);
  return (1 + 0x1p-8) * u *
         ((8 * size + 2 * size + 5) * std::fabs(alpha) * norm_of_sum * norm_of_c * norm_of_x +
          std::fabs(b));
}

/// How far the solution misses B at most.
struct residual_report {
  double largest = 0;
  double allowed = 0;
};

/// Whether x solves the equation.
inline comparison check(std::span<const double> x, double alpha, std::span<const double> a,
                        std::span<const double> c, std::span<const double> b, shape size,
                        residual_report* report = nullptr) {
  if (x.size() != size.n * size.columns)
    return {false, "X has " + std::to_string(x.size()) + " elements, expected " +
                       std::to_string(size.n) + " x " + std::to_string(size.columns)};
  const auto left = left_side(alpha, a, c, x, size);
  const double norm_of_sum = norm(sum_of(a, c), size.n, size.n, true);
  const double norm_of_c = norm(c, size.n, size.n, true);
  for (std::size_t column = 0; column < size.columns; ++column) {
    double norm_of_x = 0;  // of this column alone
    for (std::size_t row = 0; row < size.n; ++row)
      norm_of_x = std::max(norm_of_x, std::fabs(x[row * size.columns + column]));
    for (std::size_t row = 0; row < size.n; ++row) {
      const double got = left[row * size.columns + column], wanted = b[row * size.columns + column];
      const double allowed =
          residual_bound(alpha, norm_of_sum, norm_of_c, norm_of_x, wanted, size.n);
      if (!inside(got, wanted, {.absolute = std::isfinite(allowed) ? allowed : 0}))
        return {false, "row " + std::to_string(row) + ", column " + std::to_string(column) +
                           ": the left side is " + std::to_string(got) + ", B is " +
                           std::to_string(wanted)};
      const double off = std::fabs(got - wanted);
      if (report != nullptr && off * report->allowed >= report->largest * allowed)
        *report = {off, allowed};
    }
  }
  return {true, "the left side is B in all " + std::to_string(x.size()) + " elements"};
}

/// An upper triangular matrix of whole numbers whose diagonal elements are at least twice the rest
/// of their rows together, and at least 2. Below the diagonal stands `below`.
inline std::vector<double> well_conditioned(std::size_t n, std::uint64_t seed, double below) {
  const auto whole = random_ints(n * n, seed, -4, 4);
  std::vector<double> out(n * n, below);
  for (std::size_t row = 0; row < n; ++row) {
    double rest = 1;
    for (std::size_t column = row + 1; column < n; ++column) {
      out[row * n + column] = whole[row * n + column];
      rest += std::fabs(out[row * n + column]);
    }
    out[row * n + row] = (whole[row * n + row] < 0 ? -2 : 2) * rest;
  }
  return out;
}

/// What is given, and a solution of whole numbers from -9 to 9.
struct problem {
  std::vector<double> a, c, b, x;
};

/// Both A + C and C are well conditioned. Below the diagonals of A and C stands `below`.
inline problem make_problem(double alpha, shape size, std::uint64_t seed, double below = 0) {
  problem out;
  const auto sum = well_conditioned(size.n, 3 * seed, 0);
  out.c = well_conditioned(size.n, 3 * seed + 1, below);
  out.a = out.c;
  for (std::size_t row = 0; row < size.n; ++row)
    for (std::size_t column = row; column < size.n; ++column)
      out.a[row * size.n + column] = sum[row * size.n + column] - out.c[row * size.n + column];
  const auto whole = random_ints(size.n * size.columns, 3 * seed + 2, -9, 9);
  out.x.assign(whole.begin(), whole.end());
  out.b = left_side(alpha, out.a, out.c, out.x, size);
  return out;
}

}  // namespace lab::matrix_equation
