// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 13.6 lu_solve: the contract. What the program and the tests expect of lu_solve.cu.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace lab::lu_solve {

/// A batch of systems A · X = B, all of one shape: A has n rows and n columns, B and X have n rows
/// and a column for each right-hand side.
struct shape {
  std::size_t systems = 0;
  std::size_t n = 0;
  std::size_t right_sides = 0;
};

/// What the program solves unless it is told otherwise.
inline constexpr shape kDefaultShape = {.systems = 100, .n = 64, .right_sides = 2};

/// What became of one system.
struct solution {
  /// 0: the system is solved. k: pivot k, counted from 1, is exactly 0. A is singular, and the
  /// system is not solved.
  int zero_pivot = 0;
  /// X, row after row; empty where the system is not solved.
  std::vector<double> x;
};

struct result {
  std::vector<solution> solutions;  ///< one for each system
  float solve_ms = 0;               ///< the library's work: factors and solutions
};

/// Solves every system of the batch, by the LU factorization of A with exchanged rows.
///
/// `a` holds the systems' matrices one after the other, each row after row (row-major); `b` holds
/// their right-hand sides likewise. A singular matrix does not disturb the other systems.
///
/// Accuracy: each element of A · X is at most residual_bound() (reference.hpp) away from B's.
/// Where no number on the way has to be rounded, X is exact.
///
/// Without systems there is nothing to do. A system with n = 0 counts as solved. Without right-hand
/// sides the matrices are still factored, and the zero pivots reported.
///
/// Throws lab::invalid_input when a or b is not as long as the shape says, or when a size is more
/// than the library's int can count; lab::cublas_error when cuBLAS, lab::cuda_error when CUDA
/// reports an error. None of them leaves device memory or a handle behind.
///
/// Requires: cublasDgetrfBatched and cublasDgetrsBatched for the whole batch, and a kernel of yours
/// that transposes A, B and X.
///
/// From: the Kazan course on CUDA programming technology, chapter 9, first homework.
result solve(std::span<const double> a, std::span<const double> b, shape size);

}  // namespace lab::lu_solve
