// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 13.6 lu_solve: many systems of equations in two calls, and those that have no solution.
// Edit:  this file, from TODO(1) to TODO(5). lu_solve.hpp has the contract.
// Run:   scripts/lab run 13.6              (then -- --matrix zero_corner, singular, hilbert)
// Test:  scripts/lab test 13.6
// Hints: scripts/lab hint 13.6             Chapter: docs/13_cublas.md

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
  // TODO(1): element (row, column) of each matrix, row-major in `from`, goes to its column-major
  //          position in `to`. Matrix k begins at k times the size of one matrix, in both. In
  //          strides of the grid: there may be more elements than threads.
  // BEGIN SOLUTION
  const std::size_t size = rows * columns;
  const std::size_t stride = std::size_t{gridDim.x} * blockDim.x;
  std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  for (; i < count * size; i += stride) {
    const std::size_t first = i / size * size;  // of this element's matrix
    const std::size_t row = (i - first) / columns, column = (i - first) % columns;
    to[first + column * rows + row] = from[i];
  }
  // END SOLUTION
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
  // TODO(2): `count` matrices of equal size fill `matrices`. Compute the addresses on the
  //          host (which may do arithmetic with a device address, but not dereference it), and
  //          copy them to the device.
  // BEGIN SOLUTION
  // STUB: throw not_written("the batch in device memory", 1);  // 1 and 2
  const std::size_t size = matrices.size() / count;
  std::vector<double*> each(count);
  for (std::size_t k = 0; k < count; ++k) each[k] = matrices.data() + k * size;
  return device_buffer<double*>(each);
  // END SOLUTION
}

// cublasDgetrfBatched(handle, n, matrices, lda, pivots, info, count) factors `count` matrices of
// n rows and columns: `matrices` is the array of their addresses. With their factors and pivots
// cublasDgetrsBatched(handle, op, n, right sides, matrices, lda, pivots, right-hand sides, ldb,
// &info, count) solves op(A) X = B for each, and replaces B with X.

/// Replaces every matrix with its factors.
void factorize(const cublas_handle& handle, batch& device_batch) {
  // TODO(3): cublasDgetrfBatched. All its arrays are in device memory, including info. What is
  //          the leading dimension of a matrix without gaps? A status of success says nothing
  //          about the matrices: that is what the info is for.
  // BEGIN SOLUTION
  // STUB: throw not_written("factorize", 3);
  const int n = static_cast<int>(device_batch.n), systems = static_cast<int>(device_batch.systems);
  CUBLAS_CHECK(cublasDgetrfBatched(handle, n, device_batch.each_a.data(), n,
                                   device_batch.pivots.data(), device_batch.zero_pivots.data(),
                                   systems));
  // END SOLUTION
}

/// Replaces every right-hand side with its solution, using the factors of factorize(). For a
/// singular matrix the result is not a solution.
void solve_factorized(const cublas_handle& handle, batch& device_batch) {
  // TODO(4): cublasDgetrsBatched, for all right-hand sides of a system at once. Its info is of
  //          a different kind: one int on the host, which says whether an argument is wrong.
  // BEGIN SOLUTION
  // STUB: throw not_written("solve_factorized", 4);
  const int n = static_cast<int>(device_batch.n),
            right_sides = static_cast<int>(device_batch.right_sides);
  int wrong_argument = 0;  // that something is wrong the status says as well
  CUBLAS_CHECK(cublasDgetrsBatched(handle, CUBLAS_OP_N, n, right_sides, device_batch.each_a.data(),
                                   n, device_batch.pivots.data(), device_batch.each_b.data(), n,
                                   &wrong_argument, static_cast<int>(device_batch.systems)));
  // END SOLUTION
}

/// The outcome of each system. `x` has all solutions, row-major.
std::vector<solution> collect(const std::vector<int>& zero_pivots, const std::vector<double>& x,
                              std::size_t each) {
  std::vector<solution> out(zero_pivots.size());
  // TODO(5): for each system its zero pivot, and its `each` numbers of x if they are a solution.
  // BEGIN SOLUTION
  // STUB: throw not_written("collect", 5);
  for (std::size_t k = 0; k < zero_pivots.size(); ++k) {
    out[k].zero_pivot = zero_pivots[k];
    const auto first = x.begin() + static_cast<std::ptrdiff_t>(k * each);
    if (zero_pivots[k] == 0) out[k].x.assign(first, first + static_cast<std::ptrdiff_t>(each));
  }
  // END SOLUTION
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
