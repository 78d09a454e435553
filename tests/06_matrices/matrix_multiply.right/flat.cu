// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Differs from the solution: a grid in one dimension, whose threads compute their row and column.

#include <cuda_runtime.h>

#include "given.hpp"

namespace lab::matrix_multiply {
namespace {

constexpr unsigned kSide = 16;  // of a block: 16 x 16 threads, as in the text

/// One kernel for both precisions: T is float or double.
template <class T>
__global__ void product(const T* a, const T* b, T* c, shape size) {
  const std::size_t e = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  const std::size_t row = e / size.n, column = e % size.n;
  if (row < size.m && column < size.n) {
    T sum = 0;
    for (std::size_t i = 0; i < size.k; ++i) sum += a[row * size.k + i] * b[i * size.n + column];
    c[row * size.n + column] = sum;
  }
}

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
  (void)across;
  product<T><<<static_cast<unsigned>((size.m * size.n + 127) / 128), 128>>>(a, b, c, size);
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

}  // namespace

result<float> multiply(std::span<const float> a, std::span<const float> b, shape size) {
  return multiply_on_device(a, b, size);
}

result<double> multiply(std::span<const double> a, std::span<const double> b, shape size) {
  return multiply_on_device(a, b, size);
}

}  // namespace lab::matrix_multiply
