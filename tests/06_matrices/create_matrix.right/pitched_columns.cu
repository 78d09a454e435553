// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Differs from the solution: on the device each row begins at a multiple of the pitch, and a thread
// walks down its columns, where each element is the one above it plus a constant.

#include <cuda_runtime.h>

#include <memory>

#include "given.hpp"

namespace lab::create_matrix {
namespace {

__global__ void fill_columns(cudaPitchedPtr matrix, std::size_t columns) {
  const std::size_t first_y = blockIdx.y * std::size_t{blockDim.y} + threadIdx.y;
  const std::size_t down = gridDim.y * std::size_t{blockDim.y};
  std::size_t x = blockIdx.x * std::size_t{blockDim.x} + threadIdx.x;
  for (; x < columns; x += gridDim.x * std::size_t{blockDim.x}) {
    std::size_t element = 10 * first_y + x;
    char* row = static_cast<char*>(matrix.ptr) + first_y * matrix.pitch;
    for (std::size_t y = first_y; y < matrix.ysize; y += down) {
      reinterpret_cast<int*>(row)[x] = static_cast<int>(element);
      row += down * matrix.pitch;
      element += 10 * down;
    }
  }
}

unsigned sixteens(std::size_t length, cudaDeviceAttr limit) {
  if (length == 0) return 1;
  return static_cast<unsigned>(std::min<std::size_t>(1 + (length - 1) / 16, device_limit(limit)));
}

struct free_on_device {
  void operator()(void* memory) const noexcept { CUDA_CHECK_NOTHROW(cudaFree(memory)); }
};

}  // namespace

launch_shape covering(std::size_t rows, std::size_t columns) {
  return {sixteens(columns, cudaDevAttrMaxGridDimX), sixteens(rows, cudaDevAttrMaxGridDimY), 16,
          16};
}

result create(std::size_t rows, std::size_t columns, launch_shape shape) {
  require_launchable(shape);
  result out;
  if (rows == 0 || columns == 0) return out;
  require_elements_of_int(rows, columns);
  const std::size_t width = columns * sizeof(int);
  cudaPitchedPtr matrix{nullptr, 0, width, rows};
  CUDA_CHECK(cudaMallocPitch(&matrix.ptr, &matrix.pitch, width, rows));
  const std::unique_ptr<void, free_on_device> owner(matrix.ptr);
  const dim3 grid(shape.grid_x, shape.grid_y), block(shape.block_x, shape.block_y);
  out.kernel_ms = time_kernel([&] { fill_columns<<<grid, block>>>(matrix, columns); });
  out.elements.resize(rows * columns);
  CUDA_CHECK(cudaMemcpy2D(out.elements.data(), width, matrix.ptr, matrix.pitch, width, rows,
                          cudaMemcpyDeviceToHost));
  return out;
}

}  // namespace lab::create_matrix
