// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 06.6 orthogonal_matrix: matrices that are orthogonal, and one that is not.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <numeric>
#include <utility>
#include <vector>

#include "lab/random.hpp"

namespace lab::orthogonal_matrix {

/// n x n, row-major.
inline std::vector<float> identity(std::size_t n) {
  std::vector<float> a(n * n);
  for (std::size_t i = 0; i < n; ++i) a[i * n + i] = 1;
  return a;
}

/// Row i has its only 1 in column p(i), for a random permutation p.
inline std::vector<float> permutation(std::size_t n, std::uint64_t seed) {
  std::vector<std::size_t> column(n);
  std::iota(column.begin(), column.end(), std::size_t{0});
  random_source source(seed);
  for (std::size_t i = n; i > 1; --i) std::swap(column[i - 1], column[source.bits() % i]);
  std::vector<float> a(n * n);
  for (std::size_t i = 0; i < n; ++i) a[i * n + column[i]] = 1;
  return a;
}

/// A mirror: I - 2 v vᵀ for a random v of length 1, rounded to floats.
inline std::vector<float> reflection(std::size_t n, std::uint64_t seed) {
  std::vector<double> v(n);
  random_source source(seed);
  double squares = 0;
  for (double& x : v) {
    x = source.real(-1, 1);
    squares += x * x;
  }
  std::vector<float> a(n * n);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j)
      a[i * n + j] = static_cast<float>((i == j ? 1.0 : 0.0) - 2 * v[i] * v[j] / squares);
  return a;
}

/// A rotation in n dimensions. A Givens rotation turns two axes by an angle and leaves the others
/// alone; this is a product of many, with random angles, for axes at distances 1, 2, 4, …: no axis
/// stays where it was. Made in double, where the errors are 2^29 times finer, then rounded.
inline std::vector<float> rotation(std::size_t n, std::uint64_t seed) {
  std::vector<double> a(n * n);
  for (std::size_t i = 0; i < n; ++i) a[i * n + i] = 1;
  random_source source(seed);
  for (std::size_t distance = 1; distance < n; distance *= 2) {
    for (std::size_t i = 0; i + distance < n; ++i) {
      const double angle = std::numbers::pi * source.real(-1, 1);
      const double cosine = std::cos(angle), sine = std::sin(angle);
      double* const one = a.data() + i * n;
      double* const other = one + distance * n;
      for (std::size_t j = 0; j < n; ++j) {
        const double x = one[j], y = other[j];
        one[j] = cosine * x - sine * y;
        other[j] = sine * x + cosine * y;
      }
    }
  }
  return {a.begin(), a.end()};
}

}  // namespace lab::orthogonal_matrix
