// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Differs from the solution: a grid in one dimension, whose threads compute their row and column.

#include <cuda_runtime.h>

#include "given.hpp"

namespace lab::matrix_add {
namespace {

constexpr unsigned kThreads = 128;

/// A thread for each element, in a grid of one dimension.
unsigned blocks_for(std::size_t elements) {
  return static_cast<unsigned>((elements + kThreads - 1) / kThreads);
}

// --- flat: the matrix is one long vector ---------------------------------------------------------

__global__ void add_flat(const float* a, const float* b, float* sum, std::size_t rows,
                         std::size_t columns) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < rows * columns) sum[i] = a[i] + b[i];
}

result add_flat_on_device(std::span<const float> a, std::span<const float> b, std::size_t rows,
                          std::size_t columns) {
  const device_buffer device_a(a);
  const device_buffer device_b(b);
  device_buffer<float> device_sum(a.size());

  const float kernel_ms = time_kernel([&] {
    add_flat<<<blocks_for(rows * columns), kThreads>>>(device_a.data(), device_b.data(),
                                                       device_sum.data(), rows, columns);
  });

  result out{device_sum.to_vector()};
  out.pitch = columns * sizeof(float);
  out.memory = out.sum;  // there are no gaps
  out.kernel_ms = kernel_ms;
  return out;
}

// --- pitched: each row begins at an aligned address ----------------------------------------------

/// Rows of floats in device memory. A kernel gets it as an argument, by value.
struct pitched_matrix {
  float* first = nullptr;  ///< element (0, 0)
  std::size_t pitch = 0;   ///< from the beginning of a row to that of the next, in bytes

  /// The address of row y.
  __device__ float* row(std::size_t y) const {
    return reinterpret_cast<float*>(reinterpret_cast<char*>(first) + y * pitch);
  }
};

struct device_free {
  void operator()(float* memory) const noexcept { CUDA_CHECK_NOTHROW(cudaFree(memory)); }
};

/// Owns a pitched matrix: what device_buffer is to a vector.
struct pitched_buffer {
  std::unique_ptr<float, device_free> memory;
  std::size_t pitch = 0;
  pitched_matrix matrix() const { return {memory.get(), pitch}; }
};

pitched_buffer allocate(std::size_t rows, std::size_t columns) {
  float* memory = nullptr;
  std::size_t pitch = 0;
  CUDA_CHECK(cudaMallocPitch(&memory, &pitch, columns * sizeof(float), rows));
  pitched_buffer owner{std::unique_ptr<float, device_free>(memory), pitch};
  CUDA_CHECK(cudaMemset(memory, 0xFF, rows * pitch));  // NaN: never plausible
  return owner;
}

void copy_to_device(std::span<const float> from, const pitched_buffer& to, std::size_t rows,
                    std::size_t columns) {
  CUDA_CHECK(cudaMemcpy2D(to.memory.get(), to.pitch, from.data(), columns * sizeof(float),
                          columns * sizeof(float), rows, cudaMemcpyHostToDevice));
}

void copy_to_host(const pitched_buffer& from, std::span<float> to, std::size_t rows,
                  std::size_t columns) {
  CUDA_CHECK(cudaMemcpy2D(to.data(), columns * sizeof(float), from.memory.get(), from.pitch,
                          columns * sizeof(float), rows, cudaMemcpyDeviceToHost));
}

__global__ void add_pitched(pitched_matrix a, pitched_matrix b, pitched_matrix sum,
                            std::size_t rows, std::size_t columns) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= rows * columns) return;
  const std::size_t y = i / columns, x = i - y * columns;
  sum.row(y)[x] = a.row(y)[x] + b.row(y)[x];
}

result add_pitched_on_device(std::span<const float> a, std::span<const float> b, std::size_t rows,
                             std::size_t columns) {
  const pitched_buffer device_a = allocate(rows, columns), device_b = allocate(rows, columns);
  const pitched_buffer device_sum = allocate(rows, columns);
  copy_to_device(a, device_a, rows, columns);
  copy_to_device(b, device_b, rows, columns);

  const float kernel_ms = time_kernel([&] {
    add_pitched<<<blocks_for(rows * columns), kThreads>>>(device_a.matrix(), device_b.matrix(),
                                                          device_sum.matrix(), rows, columns);
  });

  result out{std::vector<float>(a.size()), device_sum.pitch};
  copy_to_host(device_sum, out.sum, rows, columns);
  out.memory.resize(rows * out.pitch / sizeof(float));
  CUDA_CHECK(cudaMemcpy(out.memory.data(), device_sum.memory.get(), rows * out.pitch,
                        cudaMemcpyDeviceToHost));
  out.kernel_ms = kernel_ms;
  return out;
}

}  // namespace

// --- given ---------------------------------------------------------------------------------------

result add(step version, std::span<const float> a, std::span<const float> b, std::size_t rows,
           std::size_t columns) {
  refuse_if(!has_shape(a.size(), rows, columns) || !has_shape(b.size(), rows, columns),
            "matrix_add: a has ", a.size(), " elements and b ", b.size(), ", and ", rows, " x ",
            columns, " are needed of both");
  if (a.empty()) return {};  // a grid of no blocks would be an error
  return version == step::flat ? add_flat_on_device(a, b, rows, columns)
                               : add_pitched_on_device(a, b, rows, columns);
}

}  // namespace lab::matrix_add
