// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 13.3 gemm: the contract. What the program and the tests expect of gemm.cu.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace lab::gemm {

/// m, n and k of the program's product on the CPU device unless it is told otherwise.
inline constexpr std::size_t kDefaultSize = 500;

/// A row-major matrix: the element in row r and column c is data[r * pitch + c]. What lies between
/// the rows does not belong to it, and may be anything, NaN too.
struct row_major {
  std::span<const float> data;
  std::size_t rows = 0;
  std::size_t cols = 0;
  std::size_t pitch = 0;  ///< at least cols
};

enum class step {
  product,          ///< C = alpha A B + beta C
  transposed_a,     ///< C = alpha A^T B + beta C: A has as many rows as B
  transposed_b,     ///< C = alpha A B^T + beta C: A has as many columns as B
  transposed_both,  ///< C = alpha A^T B^T + beta C
};

struct result {
  std::vector<float> c;  ///< the whole array of C, as long as it came in
  float kernel_ms = 0;   ///< the time of cuBLAS's call on the device
};

/// The product of two row-major matrices, by one call of cuBLAS. All three are on the device as
/// they are on the host, and nothing is transposed.
///
/// With beta = 0 the old C is not read: it may hold NaN. Where the sums have no terms (A B with a
/// width of A of 0), the result is beta C. What lies between the rows of C stays as it was.
///
/// Accuracy: each element is at most its error bound (reference.hpp) from the exact one. Whole
/// numbers whose products and sums stay below 2^24 give the exact result.
///
/// Throws lab::invalid_input when the shapes do not fit each other, when a pitch is less than the
/// columns, when data is too short for its matrix, or when a size is more than an int can count;
/// lab::cublas_error when cuBLAS reports a failure; lab::cuda_error when CUDA does. Neither device
/// memory nor a handle is left behind.
///
/// Requires: one call of cublasSgemm on device memory; nothing is transposed before or after it.
///
/// From: the Kazan course on CUDA programming technology, chapter 9, example 3 (C = A B); factors,
/// transposes and pitches are ours.
result multiply(step version, float alpha, row_major a, row_major b, float beta, row_major c);

}  // namespace lab::gemm
