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
// BEGIN SOLUTION
void multiply_normal(cublasHandle_t handle, float alpha, device_matrix a, const float* x,
                     float beta, float* y) {
  // Our rows are its columns: it sees the transpose, cols x rows, and must transpose that.
  CUBLAS_CHECK(
      cublasSgemv(handle, CUBLAS_OP_T, a.cols, a.rows, &alpha, a.data, a.pitch, x, 1, &beta, y, 1));
}
// END SOLUTION

// TODO(2): y = alpha A^T x + beta y.
// BEGIN SOLUTION
void multiply_transposed(cublasHandle_t handle, float alpha, device_matrix a, const float* x,
                         float beta, float* y) {
  // It sees A^T already.
  CUBLAS_CHECK(
      cublasSgemv(handle, CUBLAS_OP_N, a.cols, a.rows, &alpha, a.data, a.pitch, x, 1, &beta, y, 1));
}
// END SOLUTION

}  // namespace

result multiply(step version, float alpha, row_major a, std::span<const float> x, float beta,
                std::span<const float> y) {
  // TODO(3): checked() of given.hpp rejects a bad matrix; require_length() is for x and y. If x or
  //          y is empty, BLAS would leave y unchanged, so the host scales it. Otherwise A, x and y
  //          on the device, a cublas_handle, and the step's call in a time_kernel(). Its second
  //          argument copies y to the device: with beta, a second call would otherwise continue
  //          from the result of the first.
  // BEGIN SOLUTION
  // STUB: if (version == step::normal) throw not_written("step normal", 1);
  // STUB: throw not_written("step transposed", 2);
  device_matrix matrix = checked(a);
  require_length("x", x.size(), version == step::normal ? a.cols : a.rows);
  require_length("y", y.size(), version == step::normal ? a.rows : a.cols);

  result out{std::vector<float>(y.begin(), y.end())};
  if (x.empty() || y.empty()) {  // BLAS would leave y as it was, whatever beta is
    for (float& old : out.y) old = beta == 0 ? 0 : beta * old;
    return out;
  }
  const device_buffer device_a(a.data), device_x(x);
  device_buffer<float> device_y(y.size());
  matrix.data = device_a.data();
  const cublas_handle handle;

  out.kernel_ms = time_kernel(
      [&] {
        if (version == step::normal)
          multiply_normal(handle, alpha, matrix, device_x.data(), beta, device_y.data());
        else
          multiply_transposed(handle, alpha, matrix, device_x.data(), beta, device_y.data());
      },
      [&] { device_y.copy_from(y); });
  device_y.copy_to(out.y);
  return out;
  // END SOLUTION
}

}  // namespace lab::gemv
