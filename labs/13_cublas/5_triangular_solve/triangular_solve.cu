// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 13.5 triangular_solve: trsv, and everything that can fail around it.
// Edit:  this file, from TODO(1) to TODO(3). triangular_solve.hpp has the contract.
// Run:   scripts/lab run 13.5                      (then --inject negative_n, …)
// Test:  scripts/lab test 13.5
// Hints: scripts/lab hint 13.5                     Chapter: docs/13_cublas.md

#include <cublas_v2.h>

#include <cstddef>
#include <optional>
#include <string>

#include "lab/cublas_check.hpp"
#include "lab/cublas_handle.hpp"
#include "lab/cuda_check.hpp"
#include "lab/device_buffer.hpp"
#include "lab/errors.hpp"
#include "lab/refuse_if.hpp"
#include "lab/time_kernel.hpp"
#include "triangular_solve.hpp"

namespace lab::triangular_solve {
namespace {

// --- what cuBLAS cannot see ----------------------------------------------------------------------

/// The first row with a 0 on the diagonal, if there is one. The array is long enough for n and lda.
std::optional<int> first_zero_on_the_diagonal(const linear_system& s) {
  // TODO(1): A is column-major: where is its element in row i and column i?
  throw not_written("the look at the diagonal", 1);
}

/// Rejects, with one sentence, errors that the library cannot notice: it gets bare addresses.
void refuse_what_cublas_cannot_see(const linear_system& s, bool trust_diagonal) {
  refuse_if(s.increment < 0, "triangular_solve: an increment of ", s.increment,
            " walks backwards, which cuBLAS does not document");
  // Arguments that are always invalid are left to cuBLAS: no length can be right for them.
  if (s.n < 1 || s.lda < s.n || s.increment == 0) return;

  // TODO(2): how many elements must the arrays of a and b have at least? (The last column ends with
  //          its last row, nothing follows the last element of b.) Throw invalid_input if
  //          one is shorter; and for a zero on the diagonal, unless trust_diagonal is set.
}

// --- what CUDA and cuBLAS report, if you ask -----------------------------------------------------

result solve_on_device(step version, const linear_system& s, const solve_options& options) {
  const cublasFillMode_t triangle =
      version == step::lower ? CUBLAS_FILL_MODE_LOWER : CUBLAS_FILL_MODE_UPPER;
  // TODO(3): all of this is right as long as nothing fails. Check every call that returns
  //          a status. Then look for what leaks if the third of them throws: give everything
  //          that must be released an owner.
  const device_buffer device_a(s.a);
  device_buffer<double> device_x(s.b.size());
  cublasHandle_t blas = nullptr;
  if (options.with_handle) (void)cublasCreate(&blas);
  const int n = s.n, ld = s.lda, inc = s.increment;
  const double* a = device_a.data();
  double* x = device_x.data();
  const auto call = [&] { /* the call */ };
  const float ms = time_kernel(call, [&] { device_x.copy_from(s.b); });  // x overwrites b
  if (options.with_handle) (void)cublasDestroy(blas);
  return {device_x.to_vector(), ms};
}

}  // namespace

result solve(step version, const linear_system& system, const solve_options& options) {
  refuse_what_cublas_cannot_see(system, options.trust_diagonal);
  if (system.n == 0) return {std::vector<double>(system.b.begin(), system.b.end())};
  return solve_on_device(version, system, options);
}

}  // namespace lab::triangular_solve
