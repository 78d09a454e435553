// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 13.7 cublasxt_gemm: the contract. What the program and the tests expect of cublasxt_gemm.cu.
#pragma once

#include <cstddef>
#include <vector>

namespace lab::cublasxt_gemm {

/// rows x columns elements in ordinary host memory, row after row (row-major).
struct matrix {
  std::size_t rows = 0;
  std::size_t columns = 0;
  std::vector<float> elements;
};

/// What is done to the first operand before it is multiplied.
enum class op { none, transpose };

/// Who works, and in what portions.
struct plan {
  std::vector<int> devices;  ///< their numbers, each once; empty: all that are visible
  int block_dim = 2048;      ///< tiles of block_dim x block_dim elements
  bool pinned = false;       ///< pins the operands and C where they are, for each product
};

struct result {
  matrix c;
  double host_ms = 0;  ///< what the calls of cuBLAS-Xt took, copies included, by the host's clock
  double pin_ms = 0;   ///< what pinning their memory took, before that; 0 without plan::pinned
};

/// C = op(A) · B, for any shapes that have a product: op(A) has as many columns as B has rows.
///
/// Without elements in C there is nothing to do; without terms in its sums all of C is 0. Accuracy:
/// at most the bounds that reference.hpp derives; exact where all products and sums are whole
/// numbers below 2^24.
///
/// Throws lab::invalid_input when the shapes do not fit, when a matrix does not have rows * columns
/// elements, when a device does not exist or is named twice, and for a block_dim below 1, also
/// where there is nothing to do; lab::cublas_error when cuBLAS-Xt reports an error, lab::cuda_error
/// when the memory cannot be pinned. None of them leaves a handle or pinned memory behind.
///
/// From: the Kazan course on CUDA programming technology, chapter 9, the listing with cuBLAS-Xt.
result multiply(op first, const matrix& a, const matrix& b, const plan& options = {});

/// C = op(A + B) · (A · B).
///
/// The sum asks for two matrices of one shape, the product A · B for as many columns of A as there
/// are rows of B: together that leaves square matrices only, and for those any op will do. Accuracy
/// and exceptions as above; matrices that are not square, or of different sizes, are
/// lab::invalid_input.
///
/// Requires: cublasXtSgemm on host memory, with the devices and the tiles that were asked for; with
/// plan::pinned on memory that cudaHostRegister has pinned.
///
/// From: the same chapter, second classroom task.
result sum_times_product(op first, const matrix& a, const matrix& b, const plan& options = {});

}  // namespace lab::cublasxt_gemm
