// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// A block for each system transposes A in place, and never touches the diagonal. B and X are
// transposed by another kernel, of fewer threads.

#include <cublas_v2.h>
#include <cuda_runtime.h>

#include "given.hpp"
#include "lab/timer.hpp"

namespace lab::lu_solve {
namespace {

__global__ void transpose_in_place(double* matrices, std::size_t count, std::size_t n) {
  for (std::size_t k = blockIdx.x; k < count; k += gridDim.x) {
    double* const matrix = matrices + k * n * n;
    for (std::size_t i = threadIdx.x; i < n * n; i += blockDim.x) {
      const std::size_t row = i / n, column = i % n;
      if (row >= column) continue;
      const double above = matrix[i];
      matrix[i] = matrix[column * n + row];
      matrix[column * n + row] = above;
    }
  }
}

__global__ void transpose_each(const double* from, double* to, std::size_t total, std::size_t rows,
                               std::size_t columns) {
  const std::size_t stride = std::size_t{gridDim.x} * blockDim.x;
  std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  for (; i < total; i += stride) {
    const std::size_t in_matrix = i % (rows * columns);
    to[i] = from[i - in_matrix + in_matrix % rows * columns + in_matrix / rows];
  }
}

device_buffer<double> transposed(const device_buffer<double>& from, std::size_t rows,
                                 std::size_t columns) {
  device_buffer<double> to(from.size());
  if (to.empty()) return to;
  const auto blocks = static_cast<unsigned>(std::min<std::size_t>(to.size() / 192 + 1, 512));
  transpose_each<<<blocks, 192>>>(from.data(), to.data(), to.size(), rows, columns);
  CUDA_CHECK(cudaGetLastError());
  return to;
}

device_buffer<double*> pointers(device_buffer<double>& memory, std::size_t count) {
  std::vector<double*> out;
  const std::size_t each = memory.size() / count;
  for (std::size_t k = 0; k < count; ++k) out.push_back(memory.data() + k * each);
  return device_buffer<double*>(out);
}

}  // namespace

result solve(std::span<const double> a, std::span<const double> b, shape size) {
  require_sensible(a, b, size);
  const std::size_t systems = size.systems, n = size.n, right_sides = size.right_sides;
  result out;
  out.solutions.resize(systems);
  if (systems == 0 || n == 0) return out;

  device_buffer<double> factors(a);
  const auto blocks = static_cast<unsigned>(std::min<std::size_t>(systems, 1000));
  transpose_in_place<<<blocks, 96>>>(factors.data(), systems, n);
  CUDA_CHECK(cudaGetLastError());
  device_buffer<double> unknowns = transposed(device_buffer<double>(b), n, right_sides);
  const auto each_a = pointers(factors, systems), each_b = pointers(unknowns, systems);
  device_buffer<int> pivots(n * systems), zeros(systems);

  const cublas_handle blas;
  const int order = static_cast<int>(n), count = static_cast<int>(systems);
  event_timer timer;
  timer.start();
  CUBLAS_CHECK(
      cublasDgetrfBatched(blas, order, each_a.data(), order, pivots.data(), zeros.data(), count));
  if (right_sides != 0) {
    int refused = 0;
    CUBLAS_CHECK(cublasDgetrsBatched(blas, CUBLAS_OP_N, order, static_cast<int>(right_sides),
                                     each_a.data(), order, pivots.data(), each_b.data(), order,
                                     &refused, count));
  }
  timer.stop();
  out.solve_ms = timer.milliseconds();

  const std::vector<double> x = transposed(unknowns, right_sides, n).to_vector();
  const std::vector<int> zero_pivots = zeros.to_vector();
  const auto each = static_cast<std::ptrdiff_t>(n * right_sides);
  for (std::size_t k = 0; k < systems; ++k) {
    out.solutions[k].zero_pivot = zero_pivots[k];
    const auto first = x.begin() + static_cast<std::ptrdiff_t>(k) * each;
    if (zero_pivots[k] == 0) out.solutions[k].x.assign(first, first + each);
  }
  return out;
}

}  // namespace lab::lu_solve
