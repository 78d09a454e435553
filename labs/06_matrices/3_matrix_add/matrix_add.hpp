// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 06.3 matrix_add: the contract. What the program and the tests expect of matrix_add.cu.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace lab::matrix_add {

/// Rows and columns of the program's matrices on the CPU device unless it is told otherwise.
inline constexpr std::size_t kDefaultSize = 1001;

/// Two ways to lay a matrix out in device memory, in the order in which they are written.
enum class step {
  flat,     ///< row after row without a gap, from cudaMalloc
  pitched,  ///< each row begins at an aligned address, by cudaMallocPitch; gaps between the rows
};

struct result {
  std::vector<float> sum;  ///< rows * columns elements, row-major, without gaps
  /// From the beginning of a row of the sum in device memory to that of the next, in bytes.
  /// flat: columns * sizeof(float). pitched: what cudaMallocPitch answered, which is at least that.
  std::size_t pitch = 0;
  /// All of the sum's device memory, gaps included: rows * pitch bytes, as floats. Element (y, x)
  /// is number y * pitch / sizeof(float) + x. The gaps are as they were filled before the launch:
  /// 0xFF bytes, each float a NaN.
  std::vector<float> memory = {};
  float kernel_ms = 0;  ///< the time of the kernel alone
};

/// The sum of two matrices of any shape, both row-major and without gaps. One rounding per element,
/// so the result is the same bit for bit whoever computes it. Where rows or columns is 0, nothing
/// is allocated and all of the result is empty.
///
/// Throws lab::invalid_input when a or b does not have rows * columns elements; lab::cuda_error
/// when CUDA reports an error. Neither leaves device memory behind.
///
/// Requires: a kernel with a thread for each element; in step pitched all three matrices in pitched
/// memory, filled and fetched by cudaMemcpy2D.
///
/// From: the Kazan course on CUDA programming technology, chapter 6 (the sum, and the homework to
/// add two M x N arrays). cudaMallocPitch is our addition.
result add(step version, std::span<const float> a, std::span<const float> b, std::size_t rows,
           std::size_t columns);

}  // namespace lab::matrix_add
