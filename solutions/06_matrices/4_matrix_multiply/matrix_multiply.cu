// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 06.4 matrix_multiply: C = A · B, a thread for each element of C, in float and in double.
// Edit:  this nearly empty file: TODO(1) to TODO(3). matrix_multiply.hpp has the contract.
// Run:   scripts/lab run 06.4 -- --type double         (float)
// Test:  scripts/lab test 06.4
// Hints: scripts/lab hint 06.4                      Chapter: docs/06_matrices.md

#include <cuda_runtime.h>

#include "given.hpp"

namespace lab::matrix_multiply {
namespace {

// TODO(1): a kernel template for float and double. Each thread's element of C is the sum over i of
//          A[row][i] * B[i][column], added up in that type; x goes along the columns of C.
//          Invariant: A, B and C have rows of different lengths (k, n and n), and a thread outside
//          C accesses nothing.
// BEGIN SOLUTION
constexpr unsigned kSide = 16;  // of a block: 16 x 16 threads, as in the text

/// One kernel for both precisions: T is float or double.
template <class T>
__global__ void product(const T* a, const T* b, T* c, shape size) {
  const std::size_t column = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  const std::size_t row = std::size_t{blockIdx.y} * blockDim.y + threadIdx.y;
  if (row < size.m && column < size.n) {
    T sum = 0;
    for (std::size_t i = 0; i < size.k; ++i) sum += a[row * size.k + i] * b[i * size.n + column];
    c[row * size.n + column] = sum;
  }
}
// END SOLUTION

// TODO(2): the host code, a template as well: reject what the contract rejects (for the sizes:
//          require_matrix("matrix_multiply: A", a.size(), size.m, size.k)), device memory for A, B
//          and C, the launch of blocks of 16 x 16 threads in a time_kernel(), and C. If the grid
//          has more rows of blocks than device_limit(cudaDevAttrMaxGridDimY), throw an
//          invalid_input that names the limit. A grid without blocks would be an error.
// BEGIN SOLUTION
template <class T>
void launch(const T* a, const T* b, T* c, shape size) {
  int device = 0, limit = 0;  // of rows of blocks
  CUDA_CHECK(cudaGetDevice(&device));
  CUDA_CHECK(cudaDeviceGetAttribute(&limit, cudaDevAttrMaxGridDimY, device));
  const std::size_t across = (size.n + kSide - 1) / kSide;
  const std::size_t down = (size.m + kSide - 1) / kSide;
  if (down > static_cast<std::size_t>(limit))
    throw invalid_input("matrix_multiply: " + std::to_string(size.m) + " rows need " +
                        std::to_string(down) + " rows of blocks, and a grid has at most " +
                        std::to_string(limit));
  const dim3 grid(static_cast<unsigned>(across), static_cast<unsigned>(down));
  product<T><<<grid, dim3(kSide, kSide)>>>(a, b, c, size);
}

template <class T>
result<T> multiply_on_device(std::span<const T> a, std::span<const T> b, shape size) {
  require_matrix("matrix_multiply: A", a.size(), size.m, size.k);
  require_matrix("matrix_multiply: B", b.size(), size.k, size.n);
  if (size.m == 0 || size.n == 0) return {};  // a grid of no blocks would be an error

  const device_buffer device_a(a);
  const device_buffer device_b(b);
  device_buffer<T> device_c(size.m * size.n);

  const float kernel_ms =
      time_kernel([&] { launch(device_a.data(), device_b.data(), device_c.data(), size); });

  result<T> out{device_c.to_vector()};  // waits until the kernel is done
  out.kernel_ms = kernel_ms;
  return out;
}
// END SOLUTION

}  // namespace

result<float> multiply(std::span<const float> a, std::span<const float> b, shape size) {
  // TODO(3): the product in float, and below in double.
  // BEGIN SOLUTION
  // STUB: throw not_written("the product", 1);
  return multiply_on_device(a, b, size);
  // END SOLUTION
}

result<double> multiply(std::span<const double> a, std::span<const double> b, shape size) {
  // BEGIN SOLUTION
  // STUB: throw not_written("the product", 1);
  return multiply_on_device(a, b, size);
  // END SOLUTION
}

}  // namespace lab::matrix_multiply
