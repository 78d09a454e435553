// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 06.6 orthogonal_matrix: the contract. What the program and the tests expect of
// orthogonal_matrix.cu.
#pragma once

#include <cstddef>
#include <span>

namespace lab::orthogonal_matrix {

/// Rows and columns of the program's matrix on the CPU device unless it is told otherwise.
inline constexpr std::size_t kDefaultSize = 256;

/// How far an entry of A · Aᵀ may be from the identity's if A is to count as orthogonal, for n
/// rows.
///
/// Why so much? A is an orthogonal matrix whose entries were rounded to floats, each by at most
/// 2^-24 of itself. In a product of two entries these are two roundings, and in the sum of the n
/// products each goes through n more, at most. So an entry is off by (n + 2) * 2^-24 * sum |a * b|,
/// to first order, and that sum is at most 1, as both rows have length 1 (Cauchy and Schwarz). The
/// factor 1 + 2^-8 covers the higher orders while n < 2^15.
constexpr float tolerance(std::size_t n) {
  return static_cast<float>((static_cast<double>(n) + 2) * 0x1p-24 * (1 + 0x1p-8));
}

struct result {
  bool orthogonal = true;  ///< whether `deviation` is within tolerance(n)
  float deviation = 0;     ///< the largest |(A · Aᵀ - I)[row][column]|
  std::size_t row = 0;     ///< where that is
  std::size_t column = 0;
  float kernel_ms = 0;  ///< the time of the kernel alone
};

/// Whether A · Aᵀ is the identity, and which entry is farthest from it. A is row-major, with `rows`
/// rows and `columns` columns. Neither Aᵀ nor the product is stored anywhere.
///
/// - Where several entries are equally far, the first is named, row after row.
/// - An entry that is a NaN, or beyond the largest float, counts as infinitely far.
/// - The matrix without rows is orthogonal: its deviation is 0, in row 0, column 0.
///
/// Accuracy: the deviation is at most error_bound (reference.hpp) from the exact one. Whole numbers
/// whose products and sums stay below 2^24 give the exact result.
///
/// Throws lab::invalid_input when A is not square, or does not have rows * columns elements;
/// lab::cuda_error when CUDA reports an error. Neither leaves device memory behind.
///
/// Requires: a kernel whose threads share the entries, with A as the only matrix in device memory;
/// no library multiplies.
///
/// From: the Kazan course on CUDA programming technology, chapter 6, the lab.
result examine(std::span<const float> a, std::size_t rows, std::size_t columns);

}  // namespace lab::orthogonal_matrix
