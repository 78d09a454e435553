// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 13.2 gemv: the contract. What the program and the tests expect of gemv.cu.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace lab::gemv {

/// Rows of the program's matrix unless it is told otherwise; it has 3/2 as many columns.
inline constexpr std::size_t kDefaultSize = 2000;

/// A matrix as C and C++ store it, row after row: the element in row r and column c is
/// data[r * pitch + c]. Rows may lie further apart than they are long; what is between them does
/// not belong to the matrix, and may be anything, NaN too.
struct row_major {
  std::span<const float> data;
  std::size_t rows = 0;
  std::size_t cols = 0;
  std::size_t pitch = 0;  ///< at least cols
};

enum class step {
  normal,      ///< y = alpha A x + beta y: x has a.cols elements, y has a.rows
  transposed,  ///< y = alpha A^T x + beta y: x has a.rows elements, y has a.cols
};

struct result {
  std::vector<float> y;
  float kernel_ms = 0;  ///< the time of cuBLAS's call on the device
};

/// A matrix times a vector, by one call of cuBLAS. A is uploaded as it is, and never transposed.
///
/// With beta = 0 the old y is not read: it may hold NaN. Where A has no rows or no columns, the
/// product is made of empty sums, and the result is beta y.
///
/// Accuracy: each element is at most its error bound (reference.hpp) from the exact one. Whole
/// numbers whose products and sums stay below 2^24 give the exact result.
///
/// Throws lab::invalid_input when a pitch is less than the columns, when data is too short for the
/// matrix, when x or y have the wrong length, or when a size is more than an int can count;
/// lab::cublas_error when cuBLAS reports a failure; lab::cuda_error when CUDA does. Neither device
/// memory nor a handle is left behind.
///
/// Requires: one call of cublasSgemv on device memory wherever x and y have elements, whatever
/// alpha is; nothing is transposed before it, and no other function of cuBLAS calculates.
///
/// From: the Kazan course on CUDA programming technology, chapter 9, example 2 (y = alpha A x);
/// the transposed product, beta and pitches are ours.
result multiply(step version, float alpha, row_major a, std::span<const float> x, float beta,
                std::span<const float> y);

}  // namespace lab::gemv
