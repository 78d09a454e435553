// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 13.8 matrix_equation: solve α (A + C) C X = B, from the outside inwards.
// Edit:  this file, from TODO(1) to TODO(5). matrix_equation.hpp has the contract.
// Run:   scripts/lab run 13.8              (then -- --data random --alpha 0.3)
// Test:  scripts/lab test 13.8
// Hints: scripts/lab hint 13.8             Chapter: docs/13_cublas.md

#include <cublas_v2.h>
#include <cuda_runtime.h>

#include "given.hpp"

namespace lab::matrix_equation {
namespace {

/// The first zero on the diagonal of A + C, else the first on that of C, if there is one.
std::optional<zero> zero_on_a_diagonal(std::span<const double> a, std::span<const double> c,
                                       std::size_t n) {
  // TODO(1): the library does not check for zeros: it divides. A + C may have a zero where neither
  //          A nor C has one.
  // BEGIN SOLUTION
  // STUB: throw not_written("zero_on_a_diagonal", 1);
  for (std::size_t row = 0; row < n; ++row)
    if (a[row * n + row] + c[row * n + row] == 0) return zero{factor::sum, row};
  for (std::size_t row = 0; row < n; ++row)
    if (c[row * n + row] == 0) return zero{factor::c, row};
  return std::nullopt;
  // END SOLUTION
}

// cublasDgeam(handle, op1, op2, m, n, &alpha, A, lda, &beta, B, ldb, C, ldc) computes the m x n
// matrix C = alpha op1(A) + beta op2(B).
//
// cublasDtrsm(handle, side, half, op, diagonal, m, n, &alpha, T, ldt, X, ldx) replaces the m x n
// matrix X, which holds some M, with the solution of op(T) X = alpha M (side CUBLAS_SIDE_LEFT) or
// X op(T) = alpha M (CUBLAS_SIDE_RIGHT). `half` says which half of T counts, CUBLAS_FILL_MODE_UPPER
// or _LOWER; a `diagonal` of CUBLAS_DIAG_UNIT, that it is all ones, whatever is stored there.

/// a + b, of n x n elements each.
device_buffer<double> sum(const cublas_handle& handle, const device_buffer<double>& a,
                          const device_buffer<double>& b, std::size_t n) {
  device_buffer<double> out(n * n);
  // TODO(2): cublasDgeam adds two matrices, each with its own factor and operation. Does it matter
  //          here that it is column-major?
  // BEGIN SOLUTION
  // STUB: throw not_written("sum", 2);
  const int size = static_cast<int>(n);
  const double one = 1;
  CUBLAS_CHECK(cublasDgeam(handle, CUBLAS_OP_N, CUBLAS_OP_N, size, size, &one, a.data(), size, &one,
                           b.data(), size, out.data(), size));
  // END SOLUTION
  return out;
}

/// Replaces x, which holds some M, with the X of u · X = factor · M. All are row-major; u is upper
/// triangular.
void divide_by_upper(const cublas_handle& handle, const device_buffer<double>& u,
                     device_buffer<double>& x, shape size, double factor) {
  // TODO(3): one cublasDtrsm. The library sees the transposed matrices, and so another equation:
  //          on which side of it is the transposed u? Which half of it is stored? And what are the
  //          rows, columns and leading dimension of the transposed x?
  // BEGIN SOLUTION
  // STUB: throw not_written("divide_by_upper", 3);
  const int n = static_cast<int>(size.n), columns = static_cast<int>(size.columns);
  CUBLAS_CHECK(cublasDtrsm(handle, CUBLAS_SIDE_RIGHT, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N,
                           CUBLAS_DIAG_NON_UNIT, columns, n, &factor, u.data(), n, x.data(),
                           columns));
  // END SOLUTION
}

/// Replaces x, which holds B, with the solution.
void solve_on_device(const cublas_handle& handle, double alpha, const device_buffer<double>& a,
                     const device_buffer<double>& c, device_buffer<double>& x, shape size) {
  // TODO(4): solve α (A + C) Y = B for Y, then C X = Y for X. No matrix product is needed.
  // BEGIN SOLUTION
  // STUB: throw not_written("solve_on_device", 2);  // 2, 3 and 4
  const device_buffer<double> outer = sum(handle, a, c, size.n);
  divide_by_upper(handle, outer, x, size, 1 / alpha);  // now x is C X
  divide_by_upper(handle, c, x, size, 1);
  // END SOLUTION
}

}  // namespace

result solve(double alpha, std::span<const double> a, std::span<const double> c,
             std::span<const double> b, shape size) {
  require_sensible(alpha, a, c, b, size);
  result out;
  out.singular = zero_on_a_diagonal(a, c, size.n);
  if (out.singular || b.empty()) return out;

  // TODO(5): a handle, the matrices on the device, and solve_on_device() in time_kernel(). It works
  //          in place: what must be done before a second run?
  // BEGIN SOLUTION
  // STUB: throw not_written("solve", 2);  // 2 to 5
  const cublas_handle handle;
  const device_buffer<double> device_a(a), device_c(c);
  device_buffer<double> device_x(b.size());  // B, until it is X
  out.solve_ms =
      time_kernel([&] { solve_on_device(handle, alpha, device_a, device_c, device_x, size); },
                  [&] { device_x.copy_from(b); });
  out.x = device_x.to_vector();
  return out;
  // END SOLUTION
}

}  // namespace lab::matrix_equation
