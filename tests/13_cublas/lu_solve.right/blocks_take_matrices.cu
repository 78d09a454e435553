// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Differs from the solution: each block transposes whole matrices.

#include <cublas_v2.h>
#include <cuda_runtime.h>

#include "given.hpp"

namespace lab::lu_solve {
namespace {

constexpr unsigned kThreads = 256;

// --- from rows to columns, and back --------------------------------------------------------------

/// Transposes `count` matrices of rows x columns elements, one after the other.
__global__ void transpose_each(const double* from, double* to, std::size_t count, std::size_t rows,
                               std::size_t columns) {
  const std::size_t size = rows * columns;
  for (std::size_t k = blockIdx.x; k < count; k += gridDim.x)
    for (std::size_t i = k * size + threadIdx.x; i < (k + 1) * size; i += blockDim.x) {
      const std::size_t first = i / size * size;  // of this element's matrix
      const std::size_t row = (i - first) / columns, column = (i - first) % columns;
      to[first + column * rows + row] = from[i];
    }
}

/// `count` row-major matrices as column-major ones, in new memory.
device_buffer<double> transposed(const device_buffer<double>& from, std::size_t count,
                                 std::size_t rows, std::size_t columns) {
  device_buffer<double> to(from.size());
  if (to.empty()) return to;  // a grid of no blocks would be an error
  const auto blocks = std::min<std::size_t>((to.size() + kThreads - 1) / kThreads, 65536);
  transpose_each<<<static_cast<unsigned>(blocks), kThreads>>>(from.data(), to.data(), count, rows,
                                                              columns);
  CUDA_CHECK(cudaGetLastError());
  return to;
}

// --- the library ---------------------------------------------------------------------------------

/// Where each matrix of the batch begins: an array of addresses, itself in device memory, since the
/// device reads it.
device_buffer<double*> addresses(device_buffer<double>& matrices, std::size_t count) {
  const std::size_t size = matrices.size() / count;
  std::vector<double*> each(count);
  for (std::size_t k = 0; k < count; ++k) each[k] = matrices.data() + k * size;
  return device_buffer<double*>(each);
}

// cublasDgetrfBatched(handle, n, matrices, lda, pivots, info, count) factors `count` matrices of
// n rows and columns: `matrices` is the array of their addresses. With their factors and pivots
// cublasDgetrsBatched(handle, op, n, right sides, matrices, lda, pivots, right-hand sides, ldb,
// &info, count) solves op(A) X = B for each, and replaces B with X.

/// Replaces every matrix with its factors.
void factorize(const cublas_handle& handle, batch& device_batch) {
  const int n = static_cast<int>(device_batch.n), systems = static_cast<int>(device_batch.systems);
  CUBLAS_CHECK(cublasDgetrfBatched(handle, n, device_batch.each_a.data(), n,
                                   device_batch.pivots.data(), device_batch.zero_pivots.data(),
                                   systems));
}

/// Replaces every right-hand side with its solution, using the factors of factorize(). For a
/// singular matrix the result is not a solution.
void solve_factorized(const cublas_handle& handle, batch& device_batch) {
  const int n = static_cast<int>(device_batch.n),
            right_sides = static_cast<int>(device_batch.right_sides);
  int wrong_argument = 0;  // that something is wrong the status says as well
  CUBLAS_CHECK(cublasDgetrsBatched(handle, CUBLAS_OP_N, n, right_sides, device_batch.each_a.data(),
                                   n, device_batch.pivots.data(), device_batch.each_b.data(), n,
                                   &wrong_argument, static_cast<int>(device_batch.systems)));
}

/// The outcome of each system. `x` has all solutions, row-major.
std::vector<solution> collect(const std::vector<int>& zero_pivots, const std::vector<double>& x,
                              std::size_t each) {
  std::vector<solution> out(zero_pivots.size());
  for (std::size_t k = 0; k < zero_pivots.size(); ++k) {
    out[k].zero_pivot = zero_pivots[k];
    const auto first = x.begin() + static_cast<std::ptrdiff_t>(k * each);
    if (zero_pivots[k] == 0) out[k].x.assign(first, first + static_cast<std::ptrdiff_t>(each));
  }
  return out;
}

}  // namespace

// --- given ---------------------------------------------------------------------------------------

result solve(std::span<const double> a, std::span<const double> b, shape size) {
  require_sensible(a, b, size);
  const auto [systems, n, right_sides] = size;
  if (systems == 0 || n == 0) return {std::vector<solution>(systems), 0};

  const cublas_handle handle;
  const auto matrices = transposed(device_buffer<double>(a), systems, n, n);
  const auto right = transposed(device_buffer<double>(b), systems, n, right_sides);
  device_buffer<double> columns_a(matrices.size()), columns_b(right.size());
  auto each_a = addresses(columns_a, systems), each_b = addresses(columns_b, systems);
  batch device_batch{systems,
                     n,
                     right_sides,
                     std::move(columns_a),
                     std::move(columns_b),
                     std::move(each_a),
                     std::move(each_b),
                     device_buffer<int>(n * systems),
                     device_buffer<int>(systems)};

  const float kernel_ms = time_kernel(
      [&] {
        factorize(handle, device_batch);
        if (device_batch.right_sides != 0) solve_factorized(handle, device_batch);
      },
      [&] {  // both work in place
        CUDA_CHECK(cudaMemcpy(device_batch.a.data(), matrices.data(), matrices.size_bytes(),
                              cudaMemcpyDeviceToDevice));
        CUDA_CHECK(cudaMemcpy(device_batch.b.data(), right.data(), right.size_bytes(),
                              cudaMemcpyDeviceToDevice));
      });

  // Column-major, a matrix of n x right_sides is a row-major one of right_sides x n.
  const auto x = transposed(device_batch.b, systems, right_sides, n).to_vector();
  return {collect(device_batch.zero_pivots.to_vector(), x, n * right_sides), kernel_ms};
}

}  // namespace lab::lu_solve
