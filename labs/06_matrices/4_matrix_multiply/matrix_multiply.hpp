// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 06.4 matrix_multiply: the contract. What the program and the tests expect of matrix_multiply.cu.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace lab::matrix_multiply {

/// C = A · B, where A has m rows and k columns, B has k rows and n columns, C has m rows and n
/// columns. All are row-major: the element in row r and column c of A is a[r * k + c].
struct shape {
  std::size_t m = 0;
  std::size_t n = 0;
  std::size_t k = 0;
};

template <class T>
struct result {
  std::vector<T> c;     ///< m * n elements, row-major
  float kernel_ms = 0;  ///< the time of the kernel alone
};

/// The product of two matrices of any shape, one thread for each element, in the precision of its
/// operands. Where m or n is 0, C is empty; where k is 0, all elements of C are 0.
///
/// Accuracy: each element is at most its error_bound (lab/matrix_closeness.hpp) from the exact one.
/// Whole numbers whose products and sums stay below 2^24 (double: 2^53) give the exact result.
///
/// Throws lab::invalid_input unless a has m * k elements and b k * n, or when m needs more
/// rows of blocks (of 16 rows each) than the current device's grid can have; lab::cuda_error when
/// CUDA reports an error. Neither leaves device memory behind.
///
/// Requires: a kernel with a thread for each element of C; no library multiplies.
///
/// From: the Kazan course on CUDA programming technology, chapter 6 (doubles, 100 x 200 times
/// 200 x 150, blocks of 16 x 16), and the examples of the Ulm course ("mmm-ab").
result<float> multiply(std::span<const float> a, std::span<const float> b, shape size);
result<double> multiply(std::span<const double> a, std::span<const double> b, shape size);

}  // namespace lab::matrix_multiply
