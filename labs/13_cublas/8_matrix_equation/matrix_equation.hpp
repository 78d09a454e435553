// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 13.8 matrix_equation: the contract. What the program and the tests expect of matrix_equation.cu.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace lab::matrix_equation {

/// A and C have n rows and n columns; B and X have n rows and `columns` columns.
struct shape {
  std::size_t n = 0;
  std::size_t columns = 0;
};

/// Of the program's random data on the CPU device, unless it is told otherwise.
inline constexpr shape kDefaultShape = {.n = 200, .columns = 60};

/// The two triangular matrices that the equation divides by.
enum class factor { sum, c };  // A + C, and C

/// A zero on a diagonal: that matrix has no inverse.
struct zero {
  factor matrix = factor::sum;
  std::size_t row = 0;  ///< counted from 0
  friend bool operator==(const zero&, const zero&) = default;
};

struct result {
  std::optional<zero> singular;  ///< if there is one, the equation is not solved
  std::vector<double> x;         ///< X, row after row; empty where the equation is not solved
  float solve_ms = 0;            ///< the library's work: the sum and the two solutions
};

/// The X for which α · (A + C) · C · X = B, by two triangular solutions.
///
/// All matrices are row-major. A and C are upper triangular: what is stored below their diagonals
/// does not matter, whatever it is.
///
/// A zero on the diagonal of A + C or of C is reported, not divided by: the first of A + C if there
/// is one, else the first of C. (The elements of A + C are rounded sums of doubles.)
///
/// Accuracy: every element of α · (A + C) · C · X is at most residual_bound() (reference.hpp) away
/// from B's. Where no number on the way has to be rounded, X is exact. This says nothing where 1 /
/// α or another number on the way is too large for a double.
///
/// Throws lab::invalid_input when a length is not what the shape says, when a size is more than the
/// library's int can count, and when α is 0, infinite or no number; lab::cublas_error when cuBLAS,
/// lab::cuda_error when CUDA reports an error. None of them leaves device memory or a handle
/// behind.
///
/// Requires: cublasDgeam for the sum and cublasDtrsm for each of the two divisions, on device
/// memory.
///
/// From: the Kazan course on CUDA programming technology, chapter 9, second homework.
result solve(double alpha, std::span<const double> a, std::span<const double> c,
             std::span<const double> b, shape size);

}  // namespace lab::matrix_equation
