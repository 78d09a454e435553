// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 16.6 grid_sync: what a solution has to satisfy. Nothing in here solves anything: the residual is
// computed again from x, and the eigenvalues of A, which are known, say the rest.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numbers>
#include <span>
#include <vector>

#include "grid_sync.hpp"

namespace lab::grid_sync {

/// b - A x, from a copy of x with a border of zeros: no cell is a special case.
inline std::vector<double> residual_of(std::span<const double> b, std::span<const double> x,
                                       std::size_t width, std::size_t height) {
  const std::size_t pitch = width + 2;
  std::vector<double> framed((height + 2) * pitch, 0.0);
  for (std::size_t row = 0; row < height; ++row)
    std::copy_n(x.begin() + static_cast<std::ptrdiff_t>(row * width), width,
                framed.begin() + static_cast<std::ptrdiff_t>((row + 1) * pitch + 1));
  std::vector<double> left(b.begin(), b.end());
  for (std::size_t row = 0; row < height; ++row)
    for (std::size_t column = 0; column < width; ++column) {
      const double* const here = &framed[(row + 1) * pitch + column + 1];
      left[row * width + column] -=
          4 * *here - (*(here - pitch) + *(here + pitch)) - (*(here - 1) + *(here + 1));
    }
  return left;
}

inline double norm(std::span<const double> v) {
  long double sum = 0;
  for (const double element : v) sum += static_cast<long double>(element) * element;
  return static_cast<double>(std::sqrt(sum));
}

/// The eigenvalue of A whose eigenvector has `across` half waves in a row of cells, and `down` in a
/// column; both from 1 on.
inline double eigenvalue(std::size_t width, std::size_t height, std::size_t across,
                         std::size_t down) {
  const auto part = [](std::size_t waves, std::size_t cells) {
    const double sine = std::sin(std::numbers::pi * static_cast<double>(waves) /
                                 (2 * static_cast<double>(cells + 1)));
    return 4 * sine * sine;
  };
  return part(across, width) + part(down, height);
}
inline double least_eigenvalue(std::size_t width, std::size_t height) {
  return eigenvalue(width, height, 1, 1);
}
inline double largest_eigenvalue(std::size_t width, std::size_t height) {
  return eigenvalue(width, height, width, height);
}

/// How far the residual that the iteration keeps may be from that of the x it returns, by rounding.
///
/// The two would be equal without rounding. With u = eps / 2 and |A| <= 8, iteration k adds at most
///   8 (u |x| + u |a p|)     from x + a p, seen through A,
///   u |r| + u |A a p|       from r - a q,
///   4 u 8 |a p|             from q = A p: four subtractions, on terms of at most 8 |p| together.
/// In conjugate gradients |x| grows and the error shrinks from iteration to iteration (Hestenes and
/// Stiefel), so |a p| <= 2 |x|, and |r| <= 8 |x| for the x of the end: 112 u |x| = 56 eps |x| in
/// all. One iteration more is for the residual that is computed from x here, and 64 for 56 allows
/// for an x that is not quite the solution.
inline double rounding(std::span<const double> x, std::size_t iterations) {
  return 64 * std::numeric_limits<double>::epsilon() * static_cast<double>(iterations + 1) *
         norm(x);
}

/// How many iterations are enough for |r| <= tolerance |b|. With k the condition number, the error
/// in the norm of A shrinks at least to 2 ((sqrt k - 1) / (sqrt k + 1))^i of what it was, and the
/// residual is at most sqrt k times that. Rounding costs conjugate gradients some of their
/// orthogonality, as if there were more eigenvalues close to those of A, for which the same bound
/// holds: a tenth more and two are allowed for that.
inline std::size_t enough_iterations(std::size_t width, std::size_t height, double tolerance) {
  const double root =
      std::sqrt(largest_eigenvalue(width, height) / least_eigenvalue(width, height));
  if (root - 1 < 1e-9) return 2;  // a single eigenvalue: one iteration
  const double each = std::log((root + 1) / (root - 1));
  return static_cast<std::size_t>(1.1 * std::log(2 * root / tolerance) / each) + 2;
}

}  // namespace lab::grid_sync
