// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Differs from the solution: a block takes whole rows, starting with the last one, and its threads
// share the columns of a row, whatever the shape of the block. Memory is allocated and freed by
// hand.

#include <cuda_runtime.h>

#include <memory>

#include "given.hpp"

namespace lab::create_matrix {
namespace {

__global__ void fill_rows(int* elements, std::size_t rows, std::size_t columns) {
  const unsigned block = blockIdx.y * gridDim.x + blockIdx.x, blocks = gridDim.x * gridDim.y;
  const unsigned thread = threadIdx.y * blockDim.x + threadIdx.x;
  for (std::size_t done = block; done < rows; done += blocks) {
    const std::size_t y = rows - 1 - done;
    int* const row = elements + y * columns;
    for (std::size_t x = thread; x < columns; x += blockDim.x * blockDim.y)
      row[x] = static_cast<int>(10 * y) + static_cast<int>(x);
  }
}

struct free_on_device {
  void operator()(int* memory) const noexcept { CUDA_CHECK_NOTHROW(cudaFree(memory)); }
};

}  // namespace

launch_shape covering(std::size_t rows, std::size_t columns) {
  launch_shape shape{1, 1, 16, 16};
  const unsigned most_x = device_limit(cudaDevAttrMaxGridDimX);
  const unsigned most_y = device_limit(cudaDevAttrMaxGridDimY);
  while (shape.grid_x < most_x && std::size_t{shape.grid_x} * 16 < columns) {
    const std::size_t missing = (columns - std::size_t{shape.grid_x} * 16 - 1) / 16 + 1;
    shape.grid_x += static_cast<unsigned>(std::min<std::size_t>(missing, most_x - shape.grid_x));
  }
  if (rows > 16)
    shape.grid_y = static_cast<unsigned>(std::min<std::size_t>((rows - 1) / 16 + 1, most_y));
  return shape;
}

result create(std::size_t rows, std::size_t columns, launch_shape shape) {
  require_launchable(shape);
  result out;
  if (rows == 0 || columns == 0) return out;
  require_elements_of_int(rows, columns);
  out.elements.resize(rows * columns);
  const std::size_t bytes = out.elements.size() * sizeof(int);

  int* memory = nullptr;
  CUDA_CHECK(cudaMalloc(&memory, bytes));
  const std::unique_ptr<int, free_on_device> owner(memory);
  out.kernel_ms = time_kernel([&] {
    const dim3 grid{shape.grid_x, shape.grid_y}, block{shape.block_x, shape.block_y};
    fill_rows<<<grid, block>>>(memory, rows, columns);
  });
  CUDA_CHECK(cudaMemcpy(out.elements.data(), memory, bytes, cudaMemcpyDeviceToHost));
  return out;
}

}  // namespace lab::create_matrix
