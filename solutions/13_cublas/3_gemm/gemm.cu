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
  // BEGIN SOLUTION
  // STUB: throw not_written("step product", 1);
  // It computes C^T (cols x rows of ours) from B^T and A^T, which it sees in b and a.
  CUBLAS_CHECK(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, c.cols, c.rows, a.cols, &alpha, b.data,
                           b.pitch, a.data, a.pitch, &beta, c.data, c.pitch));
  // END SOLUTION
}

void multiply_transposed(cublasHandle_t handle, bool transpose_a, bool transpose_b, float alpha,
                         device_matrix<const float> a, device_matrix<const float> b, float beta,
                         device_matrix<float> c) {
  // TODO(2): C = alpha op(A) op(B) + beta C: each of A and B may be transposed. Which op belongs to
  //          which operand, and how many terms does a sum have?
  // BEGIN SOLUTION
  // STUB: throw not_written("the steps with transposes", 2);
  const cublasOperation_t op_a = transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N;
  const cublasOperation_t op_b = transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N;
  const int terms = transpose_a ? a.rows : a.cols;
  CUBLAS_CHECK(cublasSgemm(handle, op_b, op_a, c.cols, c.rows, terms, &alpha, b.data, b.pitch,
                           a.data, a.pitch, &beta, c.data, c.pitch));
  // END SOLUTION
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
  // BEGIN SOLUTION
  // STUB: throw not_written("step product", 1);  // 1 and 3
  const device_buffer memory_a(a.data), memory_b(b.data);
  device_buffer<float> memory_c(c.data.size());
  on_device_a.data = memory_a.data();
  on_device_b.data = memory_b.data();
  on_device_c.data = memory_c.data();
  const cublas_handle handle;

  out.kernel_ms = time_kernel(
      [&] {
        if (version == step::product)
          multiply_product(handle, alpha, on_device_a, on_device_b, beta, on_device_c);
        else
          multiply_transposed(handle, ta, tb, alpha, on_device_a, on_device_b, beta, on_device_c);
      },
      [&] { memory_c.copy_from(c.data); });
  memory_c.copy_to(out.c);
  return out;
  // END SOLUTION
}

}  // namespace lab::gemm
