// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 13.5 triangular_solve: the contract. What the program and the tests expect of
// triangular_solve.cu.
#pragma once

#include <span>
#include <vector>

namespace lab::triangular_solve {

/// Which triangle of A counts. The other one is not read: it may hold anything.
enum class step {
  lower,  ///< the lower triangle: the first unknown comes first
  upper,  ///< the upper triangle: the last unknown comes first
};

/// A x = b with a triangular A of n rows and columns. This time all of it is as cuBLAS counts: A is
/// column-major, its element in row r and column c is a[c * lda + r]; element i of b is
/// b[i * increment].
struct linear_system {
  int n = 0;
  std::span<const double> a{};
  int lda = 0;
  std::span<const double> b{};
  int increment = 1;
};

/// What can be made to fail, for the program and for the tests.
struct solve_options {
  int device = 0;               ///< where to solve; it becomes the current device
  bool with_handle = true;      ///< false: cuBLAS is called with a null handle
  bool trust_diagonal = false;  ///< true: zeros on the diagonal are not refused
};

struct result {
  std::vector<double> x;  ///< the whole array of b, with x in the place of b
  float kernel_ms = 0;    ///< the time of cuBLAS's call on the device
};

/// Solves the system by cublasDtrsv. What lies between the elements of b stays as it was. n = 0
/// changes nothing, whatever lda is.
///
/// Accuracy: b - A x is at most the residual bound (reference.hpp), for each row.
///
/// Nothing fails silently. Throws
/// - lab::cuda_error when CUDA reports an error: no such device, for example;
/// - lab::cublas_error, with the status and the call, when cuBLAS does. n, lda and the increment go
///   to the library as they are: it refuses a negative n, an lda less than n, an increment of 0;
/// - lab::invalid_input for what the library cannot see, or does not look at: arrays that are too
///   short for n, lda and increment (where those are possible), a negative increment, and a 0 on
///   the diagonal, with the first row that has one.
/// Whatever happens, neither device memory nor a handle is left behind.
///
/// Requires: cublasDtrsv on device memory; the host checks, and solves nothing.
///
/// From: the Kazan course on CUDA programming technology, chapter 9: the listing of trsv (6 x 6),
/// and the classroom task, which asks for the handling of all errors.
result solve(step version, const linear_system& system, const solve_options& options = {});

}  // namespace lab::triangular_solve
