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
  // BEGIN SOLUTION
  // STUB: throw not_written("the look at the diagonal", 1);
  const auto lda = static_cast<std::size_t>(s.lda);
  for (int i = 0; i < s.n; ++i) {
    const auto index = static_cast<std::size_t>(i);
    if (s.a[index * lda + index] == 0) return i;
  }
  return std::nullopt;
  // END SOLUTION
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
  // BEGIN SOLUTION
  const auto n = static_cast<std::size_t>(s.n), lda = static_cast<std::size_t>(s.lda),
             increment = static_cast<std::size_t>(s.increment);
  if (const std::size_t needed = (n - 1) * lda + n; s.a.size() < needed)
    throw invalid_input("triangular_solve: a has " + std::to_string(s.a.size()) +
                        " elements, and n = " + std::to_string(n) +
                        " with lda = " + std::to_string(lda) + " needs " + std::to_string(needed));
  if (const std::size_t needed = (n - 1) * increment + 1; s.b.size() < needed)
    throw invalid_input("triangular_solve: b has " + std::to_string(s.b.size()) +
                        " elements, and n = " + std::to_string(n) + " with an increment of " +
                        std::to_string(increment) + " needs " + std::to_string(needed));
  if (trust_diagonal) return;
  if (const auto row = first_zero_on_the_diagonal(s))
    throw invalid_input("triangular_solve: A is singular: there is a 0 on its diagonal, in row " +
                        std::to_string(*row));
  // END SOLUTION
}

// --- what CUDA and cuBLAS report, if you ask -----------------------------------------------------

result solve_on_device(step version, const linear_system& s, const solve_options& options) {
  const cublasFillMode_t triangle =
      version == step::lower ? CUBLAS_FILL_MODE_LOWER : CUBLAS_FILL_MODE_UPPER;
  // TODO(3): all of this is right as long as nothing fails. Check every call that returns
  //          a status. Then look for what leaks if the third of them throws: give everything
  //          that must be released an owner.
  // BEGIN SOLUTION
  // STUB: const device_buffer device_a(s.a);
  // STUB: device_buffer<double> device_x(s.b.size());
  // STUB: cublasHandle_t blas = nullptr;
  // STUB: if (options.with_handle) (void)cublasCreate(&blas);
  // STUB: const int n = s.n, ld = s.lda, inc = s.increment;
  // STUB: const double* a = device_a.data();
  // STUB: double* x = device_x.data();
  // STUB: const auto call = [&] { /* the call */ };
  // STUB: const float ms = time_kernel(call, [&] { device_x.copy_from(s.b); });  // x overwrites b
  // STUB: if (options.with_handle) (void)cublasDestroy(blas);
  // STUB: return {device_x.to_vector(), ms};
  CUDA_CHECK(cudaSetDevice(options.device));
  const device_buffer device_a(s.a);  // checks for errors, and frees the memory
  device_buffer<double> device_x(s.b.size());
  std::optional<cublas_handle> owner;  // checks for errors, and destroys the handle
  cublasHandle_t handle = nullptr;
  if (options.with_handle) handle = owner.emplace();
  const auto call = [&] {
    CUBLAS_CHECK(cublasDtrsv(handle, triangle, CUBLAS_OP_N, CUBLAS_DIAG_NON_UNIT, s.n,
                             device_a.data(), s.lda, device_x.data(), s.increment));
  };
  const float ms = time_kernel(call, [&] { device_x.copy_from(s.b); });  // x overwrites b
  CUDA_CHECK(cudaDeviceSynchronize());  // a status says that work has begun; this, how it ended
  return {device_x.to_vector(), ms};
  // END SOLUTION
}

}  // namespace

result solve(step version, const linear_system& system, const solve_options& options) {
  refuse_what_cublas_cannot_see(system, options.trust_diagonal);
  if (system.n == 0) return {std::vector<double>(system.b.begin(), system.b.end())};
  return solve_on_device(version, system, options);
}

}  // namespace lab::triangular_solve
