// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 06.3 matrix_add: a sum of matrices, without gaps between the rows and with them.
// Edit:  this file, from TODO(1) to TODO(5). matrix_add.hpp has the contract.
// Run:   scripts/lab run 06.3 -- --step flat        (pitched)
// Test:  scripts/lab test 06.3
// Hints: scripts/lab hint 06.3                      Chapter: docs/06_matrices.md

#include <cuda_runtime.h>

#include "given.hpp"

namespace lab::matrix_add {
namespace {

// --- flat: the matrix is one long vector ---------------------------------------------------------

__global__ void add_flat(const float* a, const float* b, float* sum, std::size_t rows,
                         std::size_t columns) {
  // TODO(1): this thread adds the elements of its column in its row, and in every row further down
  //          by a multiple of the grid's height. Rows follow each other without a gap.
  // BEGIN SOLUTION
  const std::size_t x = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  const std::size_t first_y = std::size_t{blockIdx.y} * blockDim.y + threadIdx.y;
  const std::size_t stride_y = std::size_t{gridDim.y} * blockDim.y;
  if (x < columns)
    for (std::size_t y = first_y; y < rows; y += stride_y) {
      const std::size_t i = y * columns + x;
      sum[i] = a[i] + b[i];
    }
  // END SOLUTION
}

result add_flat_on_device(std::span<const float> a, std::span<const float> b, std::size_t rows,
                          std::size_t columns) {
  const device_buffer device_a(a);
  const device_buffer device_b(b);
  device_buffer<float> device_sum(a.size());

  const float kernel_ms = time_kernel([&] {
    // TODO(1): launch the kernel: grid_for() has the grid, the block is kBlockX x kBlockY.
    // BEGIN SOLUTION
    // STUB: throw not_written("step flat", 1);
    add_flat<<<grid_for(rows, columns), dim3(kBlockX, kBlockY)>>>(device_a.data(), device_b.data(),
                                                                  device_sum.data(), rows, columns);
    // END SOLUTION
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
    // TODO(2): y pitches after the first element. A pointer to float counts in floats, the
    //          pitch in bytes.
    // BEGIN SOLUTION
    // STUB: return first;
    return reinterpret_cast<float*>(reinterpret_cast<char*>(first) + y * pitch);
    // END SOLUTION
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
  // TODO(3): let cudaMallocPitch allocate rows of `columns` floats each. It takes the width in
  //          bytes, and returns the pitch that it has chosen.
  // BEGIN SOLUTION
  // STUB: throw not_written("allocating a pitched matrix", 3);
  CUDA_CHECK(cudaMallocPitch(&memory, &pitch, columns * sizeof(float), rows));
  // END SOLUTION
  pitched_buffer owner{std::unique_ptr<float, device_free>(memory), pitch};
  CUDA_CHECK(cudaMemset(memory, 0xFF, rows * pitch));  // NaN: never plausible
  return owner;
}

void copy_to_device(std::span<const float> from, const pitched_buffer& to, std::size_t rows,
                    std::size_t columns) {
  // TODO(4): one cudaMemcpy2D copies all rows. It takes a pitch for each side (on the host, rows
  //          follow each other without a gap), the width of a row in bytes, and the number of rows.
  // BEGIN SOLUTION
  // STUB: throw not_written("copying rows to the device", 4);
  const std::size_t width = columns * sizeof(float);
  CUDA_CHECK(cudaMemcpy2D(to.memory.get(), to.pitch, from.data(), width, width, rows,
                          cudaMemcpyHostToDevice));
  // END SOLUTION
}

void copy_to_host(const pitched_buffer& from, std::span<float> to, std::size_t rows,
                  std::size_t columns) {
  // TODO(4): … and back, without the gaps.
  // BEGIN SOLUTION
  // STUB: throw not_written("copying rows to the host", 4);
  const std::size_t width = columns * sizeof(float);
  CUDA_CHECK(cudaMemcpy2D(to.data(), width, from.memory.get(), from.pitch, width, rows,
                          cudaMemcpyDeviceToHost));
  // END SOLUTION
}

__global__ void add_pitched(pitched_matrix a, pitched_matrix b, pitched_matrix sum,
                            std::size_t rows, std::size_t columns) {
  // TODO(5): like add_flat, with rows from row(). Nothing is written into the gaps.
  // BEGIN SOLUTION
  const std::size_t x = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  const std::size_t first_y = std::size_t{blockIdx.y} * blockDim.y + threadIdx.y;
  const std::size_t stride_y = std::size_t{gridDim.y} * blockDim.y;
  if (x < columns)
    for (std::size_t y = first_y; y < rows; y += stride_y)
      sum.row(y)[x] = a.row(y)[x] + b.row(y)[x];
  // END SOLUTION
}

result add_pitched_on_device(std::span<const float> a, std::span<const float> b, std::size_t rows,
                             std::size_t columns) {
  const pitched_buffer device_a = allocate(rows, columns), device_b = allocate(rows, columns);
  const pitched_buffer device_sum = allocate(rows, columns);
  copy_to_device(a, device_a, rows, columns);
  copy_to_device(b, device_b, rows, columns);

  const float kernel_ms = time_kernel([&] {
    // TODO(5): launch the kernel, with the grid and the block of `flat`.
    // BEGIN SOLUTION
    // STUB: throw not_written("step pitched", 5);
    add_pitched<<<grid_for(rows, columns), dim3(kBlockX, kBlockY)>>>(
        device_a.matrix(), device_b.matrix(), device_sum.matrix(), rows, columns);
    // END SOLUTION
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
