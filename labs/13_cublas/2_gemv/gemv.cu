// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 13.2 gemv: a row-major matrix for a column-major library.
// Edit:  this nearly empty file: TODO(1) to TODO(3). gemv.hpp has the contract.
// Run:   scripts/lab run 13.2                      (then --step transposed)
// Test:  scripts/lab test 13.2
// Hints: scripts/lab hint 13.2                     Chapter: docs/13_cublas.md

#include <cublas_v2.h>

#include "given.hpp"

namespace lab::gemv {
namespace {

// cublasSgemv(handle, op, m, n, &alpha, A, lda, x, incx, &beta, y, incy) computes
// y = alpha op(A) x + beta y for a matrix of m rows and n columns, whose *columns* are contiguous,
// lda elements apart. Which matrix does it see in our memory? (Draw 2 rows of 3.)

// TODO(1): y = alpha A x + beta y, in one checked call. m, n and lda describe the matrix that
//          cuBLAS sees, not ours; op turns it into ours.

// TODO(2): y = alpha A^T x + beta y.

}  // namespace

result multiply(step version, float alpha, row_major a, std::span<const float> x, float beta,
                std::span<const float> y) {
  // TODO(3): checked() of given.hpp rejects a bad matrix; require_length() is for x and y. If x or
  //          y is empty, BLAS would leave y unchanged, so the host scales it. Otherwise A, x and y
  //          on the device, a cublas_handle, and the step's call in a time_kernel(). Its second
  //          argument copies y to the device: with beta, a second call would otherwise continue
  //          from the result of the first.
  if (version == step::normal) throw not_written("step normal", 1);
  throw not_written("step transposed", 2);
}

}  // namespace lab::gemv
