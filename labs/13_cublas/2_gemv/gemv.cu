// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 13.2 gemv: a row-major matrix for a library that counts in columns.
// Edit:  this file, from TODO(1) to TODO(3). gemv.hpp says what is asked for.
// Run:   scripts/lab run 13.2                      (then --step transposed)
// Test:  scripts/lab test 13.2
// Hints: scripts/lab hint 13.2                     Chapter: docs/13_cublas.md

#include <cublas_v2.h>

#include "given.hpp"

namespace lab::gemv {
namespace {

// cublasSgemv(handle, op, m, n, &alpha, A, lda, x, incx, &beta, y, incy) computes
// y = alpha op(A) x + beta y for a matrix of m rows and n columns, whose *columns* lie together,
// lda elements from one to the next. Which matrix does it see in our memory? (Draw 2 rows of 3.)

void multiply_normal(cublasHandle_t handle, float alpha, device_matrix a, const float* x,
                     float beta, float* y) {
  // TODO(1): y = alpha A x + beta y, in one checked call. m, n and lda describe the matrix that
  //          cuBLAS sees, not ours; op makes ours of it.
  throw not_written("step normal", 1);
}

void multiply_transposed(cublasHandle_t handle, float alpha, device_matrix a, const float* x,
                         float beta, float* y) {
  // TODO(2): y = alpha A^T x + beta y.
  throw not_written("step transposed", 2);
}

}  // namespace

result multiply(step which, float alpha, row_major a, std::span<const float> x, float beta,
                std::span<const float> y) {
  device_matrix matrix = checked(a);
  require_length("x", x.size(), which == step::normal ? a.cols : a.rows);
  require_length("y", y.size(), which == step::normal ? a.rows : a.cols);

  result out{std::vector<float>(y.begin(), y.end())};
  if (x.empty() || y.empty()) {  // BLAS would leave y as it was, whatever beta is
    for (float& old : out.y) old = beta == 0 ? 0 : beta * old;
    return out;
  }
  // TODO(3): A, x and y on the device, and a cublas_handle. matrix.data is where A is there. The
  //          step's call goes into time_kernel(), and what brings y to the device is the second
  //          argument: with beta, a second call would go on from the result of the first.
  throw not_written("step normal", 1);  // 1 and 3
}

}  // namespace lab::gemv
