// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Differs from the solution: all threads of the grid are numbered from 0 (by cooperative groups),
// and a thread walks through the elements in their order in memory, not in two directions.

#include <cooperative_groups.h>
#include <cuda_runtime.h>

#include "given.hpp"

namespace lab::create_matrix {
namespace {

namespace cg = cooperative_groups;

__global__ void fill(int* elements, std::size_t count, std::size_t columns) {
  const cg::grid_group grid = cg::this_grid();
  for (std::size_t i = grid.thread_rank(); i < count; i += grid.size())
    elements[i] = static_cast<int>(10 * (i / columns) + i % columns);
}

unsigned blocks_for(std::size_t length, cudaDeviceAttr limit) {
  const std::size_t blocks = std::max<std::size_t>((length / 16) + (length % 16 > 0), 1);
  return static_cast<unsigned>(std::min<std::size_t>(blocks, device_limit(limit)));
}

}  // namespace

launch_shape covering(std::size_t rows, std::size_t columns) {
  return {.grid_x = blocks_for(columns, cudaDevAttrMaxGridDimX),
          .grid_y = blocks_for(rows, cudaDevAttrMaxGridDimY),
          .block_x = 16,
          .block_y = 16};
}

result create(std::size_t rows, std::size_t columns, launch_shape shape) {
  require_launchable(shape);
  if (rows == 0 || columns == 0) return {};
  require_elements_of_int(rows, columns);

  device_buffer<int> elements(rows * columns);
  const float kernel_ms = time_kernel([&] {
    fill<<<dim3(shape.grid_x, shape.grid_y), dim3(shape.block_x, shape.block_y)>>>(
        elements.data(), rows * columns, columns);
  });
  return {elements.to_vector(), kernel_ms};
}

}  // namespace lab::create_matrix
