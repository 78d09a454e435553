// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 13.1 blas1: the contract. What the program and the tests expect of blas1.cu.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace lab::blas1 {

/// How many elements the program takes unless it is told otherwise.
inline constexpr std::size_t kDefaultSize = 100'000;

/// A vector within an array: its element i is data[i * increment].
struct strided {
  std::span<const double> data;
  int increment = 1;
};

struct vector_result {
  std::vector<double> data;  ///< the whole array, as long as it came in
  float kernel_ms = 0;       ///< the time of cuBLAS's call on the device
};
struct scalar_result {
  double value = 0;
  float kernel_ms = 0;
};

/// Where cuBLAS puts a result that is one number.
enum class step {
  host_result,    ///< in a variable of the host: the call waits for it
  device_result,  ///< in device memory: the call returns at once
};

/// y[i] = x[i] for n elements; what is between and after the elements of y stays as it was.
///
/// This and the three others do nothing with n = 0: arrays stay as they were, dot and norm are 0.
/// Throws lab::invalid_input when an increment is not positive (also with n = 0), when an array is
/// too short for n elements, or when n is more than an int can count; lab::cublas_error when cuBLAS
/// reports a failure; lab::cuda_error when CUDA does. Neither device memory nor a handle is left
/// behind.
///
/// Requires: a call of cuBLAS on vectors in device memory, whatever alpha is: cublasDcopy,
/// cublasDscal, cublasDdot and cublasDnrm2; the host computes nothing.
///
/// From: the Kazan course on CUDA programming technology, chapter 9, example 1 (y = x, y = alpha y,
/// the dot product, all in double); the norm and the increments are ours.
vector_result copy(std::size_t n, strided x, strided y);

/// x[i] = alpha * x[i] for n elements; one rounding each, so the result is the same everywhere.
vector_result scale(std::size_t n, double alpha, strided x);

/// x[0] * y[0] + x[1] * y[1] + … for n elements; at most dot_bound() (reference.hpp) from the exact
/// sum.
scalar_result dot(step version, std::size_t n, strided x, strided y);

/// The Euclidean norm, the square root of x[0]² + x[1]² + … for n elements, within norm_bound()
/// (reference.hpp): also where squares would be too large or too small for a double.
scalar_result norm(std::size_t n, strided x);

}  // namespace lab::blas1
