// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 06.4 matrix_multiply: C = A · B, a thread for each element of C, in float and in double.
// Edit:  this nearly empty file: TODO(1) to TODO(3). matrix_multiply.hpp has the contract.
// Run:   scripts/lab run 06.4 -- --type double         (float)
// Test:  scripts/lab test 06.4
// Hints: scripts/lab hint 06.4                      Chapter: docs/06_matrices.md

#include <cuda_runtime.h>

#include "given.hpp"

namespace lab::matrix_multiply {
namespace {

// TODO(1): a kernel template for float and double. Each thread's element of C is the sum over i of
//          A[row][i] * B[i][column], added up in that type; x goes along the columns of C.
//          Invariant: A, B and C have rows of different lengths (k, n and n), and a thread outside
//          C accesses nothing.

// TODO(2): the host code, a template as well: reject what the contract rejects (for the sizes:
//          require_matrix("matrix_multiply: A", a.size(), size.m, size.k)), device memory for A, B
//          and C, the launch of blocks of 16 x 16 threads in a time_kernel(), and C. If the grid
//          has more rows of blocks than device_limit(cudaDevAttrMaxGridDimY), throw an
//          invalid_input that names the limit. A grid without blocks would be an error.

}  // namespace

result<float> multiply(std::span<const float> a, std::span<const float> b, shape size) {
  // TODO(3): the product in float, and below in double.
  throw not_written("the product", 1);
}

result<double> multiply(std::span<const double> a, std::span<const double> b, shape size) {
  throw not_written("the product", 1);
}

}  // namespace lab::matrix_multiply
