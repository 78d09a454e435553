// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 13.3 gemm: C = alpha A B + beta C for row-major matrices, without a transpose in memory.
// Edit:  this file, from TODO(1) to TODO(3). gemm.hpp has the contract.
// Run:   scripts/lab run 13.3                      (then --step transposed_a, …)
// Test:  scripts/lab test 13.3
// Hints: scripts/lab hint 13.3                     Chapter: docs/13_cublas.md

#include <cublas_v2.h>

#include "given.hpp"

namespace lab::gemm {
namespace {

// cublasSgemm(handle, op1, op2, m, n, k, &alpha, X, ldx, Y, ldy, &beta, Z, ldz) computes
// Z = alpha op1(X) op2(Y) + beta Z, where op1(X) is m x k, op2(Y) is k x n and Z is m x n, all
// *column-major*. It sees each of our matrices transposed: A^T, B^T, C^T. And
// C = A B is the same as C^T = B^T A^T.

void multiply_product(cublasHandle_t handle, float alpha, device_matrix<const float> a,
                      device_matrix<const float> b, float beta, device_matrix<float> c) {
  // TODO(1): C = alpha A B + beta C, in one checked call in which nothing is transposed. Which
  //          matrix is X, which is Y? m, n and k describe what cuBLAS sees.
  throw not_written("step product", 1);
}

void multiply_transposed(cublasHandle_t handle, bool transpose_a, bool transpose_b, float alpha,
                         device_matrix<const float> a, device_matrix<const float> b, float beta,
                         device_matrix<float> c) {
  // TODO(2): C = alpha op(A) op(B) + beta C: each of A and B may be transposed. Which op belongs to
  //          which operand, and how many terms does a sum have?
  throw not_written("the steps with transposes", 2);
}

}  // namespace

result multiply(step version, float alpha, row_major a, row_major b, float beta, row_major c) {
  const bool ta = version == step::transposed_a || version == step::transposed_both;
  const bool tb = version == step::transposed_b || version == step::transposed_both;
  auto on_device_a = checked<const float>("A", a), on_device_b = checked<const float>("B", b);
  auto on_device_c = checked<float>("C", c);
  require_same(ta ? a.cols : a.rows, c.rows, "the rows of the product and of C");
  require_same(tb ? b.rows : b.cols, c.cols, "the columns of the product and of C");
  require_same(ta ? a.rows : a.cols, tb ? b.cols : b.rows, "the lengths of the sums in A and B");

  result out{std::vector<float>(c.data.begin(), c.data.end())};
  if (c.rows == 0 || c.cols == 0) return out;
  if (a.rows == 0 || a.cols == 0) {  // sums without terms, and empty matrices
    for (std::size_t r = 0; r < c.rows; ++r)
      for (std::size_t i = r * c.pitch; i < r * c.pitch + c.cols; ++i)
        out.c[i] = beta == 0 ? 0 : beta * out.c[i];
    return out;
  }
  // TODO(3): as in 13.2: the matrices on the device, a handle, the step's call in time_kernel().
  //          Its second argument copies C to the device. ta and tb say which are transposed.
  throw not_written("step product", 1);  // 1 and 3
}

}  // namespace lab::gemm
