// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Differs from the solution: the library transposes X, before and after the solve.

#include <cublas_v2.h>
#include <cuda_runtime.h>

#include "given.hpp"

namespace lab::matrix_equation {
namespace {

/// The first zero on the diagonal of A + C, else the first on that of C, if there is one.
std::optional<zero> zero_on_a_diagonal(std::span<const double> a, std::span<const double> c,
                                       std::size_t n) {
  for (std::size_t row = 0; row < n; ++row)
    if (a[row * n + row] + c[row * n + row] == 0) return zero{factor::sum, row};
  for (std::size_t row = 0; row < n; ++row)
    if (c[row * n + row] == 0) return zero{factor::c, row};
  return std::nullopt;
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
  const int size = static_cast<int>(n);
  const double one = 1;
  CUBLAS_CHECK(cublasDgeam(handle, CUBLAS_OP_N, CUBLAS_OP_N, size, size, &one, a.data(), size, &one,
                           b.data(), size, out.data(), size));
  return out;
}

/// Replaces x, which holds some M, with the X of u · X = factor · M. All are row-major; u is upper
/// triangular.
void divide_by_upper(const cublas_handle& handle, const device_buffer<double>& u,
                     device_buffer<double>& x, shape size, double factor) {
  const int n = static_cast<int>(size.n), columns = static_cast<int>(size.columns);
  device_buffer<double> y(x.size());
  const double one = 1, none = 0;
  CUBLAS_CHECK(cublasDgeam(handle, CUBLAS_OP_T, CUBLAS_OP_N, n, columns, &factor, x.data(), columns,
                           &none, y.data(), n, y.data(), n));
  CUBLAS_CHECK(cublasDtrsm(handle, CUBLAS_SIDE_LEFT, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_T,
                           CUBLAS_DIAG_NON_UNIT, n, columns, &one, u.data(), n, y.data(), n));
  CUBLAS_CHECK(cublasDgeam(handle, CUBLAS_OP_T, CUBLAS_OP_N, columns, n, &one, y.data(), n, &none,
                           x.data(), columns, x.data(), columns));
}

/// Replaces x, which holds B, with the solution.
void solve_on_device(const cublas_handle& handle, double alpha, const device_buffer<double>& a,
                     const device_buffer<double>& c, device_buffer<double>& x, shape size) {
  const device_buffer<double> outer = sum(handle, a, c, size.n);
  divide_by_upper(handle, outer, x, size, 1 / alpha);  // now x is C X
  divide_by_upper(handle, c, x, size, 1);
}

}  // namespace

result solve(double alpha, std::span<const double> a, std::span<const double> c,
             std::span<const double> b, shape size) {
  require_sensible(alpha, a, c, b, size);
  result out;
  out.singular = zero_on_a_diagonal(a, c, size.n);
  if (out.singular || b.empty()) return out;

  const cublas_handle handle;
  const device_buffer<double> device_a(a), device_c(c);
  device_buffer<double> device_x(b.size());  // B, until it is X
  out.solve_ms =
      time_kernel([&] { solve_on_device(handle, alpha, device_a, device_c, device_x, size); },
                  [&] { device_x.copy_from(b); });
  out.x = device_x.to_vector();
  return out;
}

}  // namespace lab::matrix_equation
