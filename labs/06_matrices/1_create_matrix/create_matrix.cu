// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 06.1 create_matrix: two indices, a thread for each element, and any grid and block.
// Edit:  this file, from TODO(1) to TODO(3). create_matrix.hpp has the contract.
// Run:   scripts/lab run 06.1 -- --grid-x 1 --grid-y 1 --block-x 4 --block-y 2
// Test:  scripts/lab test 06.1
// Hints: scripts/lab hint 06.1                      Chapter: docs/06_matrices.md

#include <cuda_runtime.h>

#include "given.hpp"

namespace lab::create_matrix {
namespace {

__global__ void fill(int* elements, std::size_t rows, std::size_t columns) {
  // TODO(1): make A[y][x] = 10 * y + x. Compute this thread's y and x in the whole grid. From there
  //          it advances to the right and down, in strides as wide and as high as the grid.
  //          Invariant: whatever the grid, each element belongs to exactly one thread, and nothing
  //          outside the matrix is accessed.
}

void launch(int* elements, std::size_t rows, std::size_t columns, launch_shape shape) {
  // TODO(2): launch `fill` with this grid and this block: a dim3 has an x and a y.
  throw not_written("the kernel with its launch", 1);
}

}  // namespace

// --- the host code -------------------------------------------------------------------------------

launch_shape covering(std::size_t rows, std::size_t columns) {
  constexpr unsigned kSide = 16;
  launch_shape shape{1, 1, kSide, kSide};
  // TODO(3): set grid_x and grid_y: just enough blocks to cover all columns (x) and all rows (y),
  //          but at least 1 and at most the device's cudaDevAttrMaxGridDimX and …Y. (device_limit()
  //          queries them, as in 03.1; now lab/launch_limits.hpp has it.) Any number of columns
  //          or rows is possible, even one so large that adding 15 overflows a std::size_t.
  throw not_written("the grid that covers a matrix", 3);
  return shape;
}

result create(std::size_t rows, std::size_t columns, launch_shape shape) {
  require_launchable(shape);
  if (rows == 0 || columns == 0) return {};
  require_elements_of_int(rows, columns);

  device_buffer<int> elements(rows * columns);
  const float kernel_ms = time_kernel([&] { launch(elements.data(), rows, columns, shape); });

  result out{elements.to_vector()};  // waits until the kernel is done
  out.kernel_ms = kernel_ms;
  return out;
}

}  // namespace lab::create_matrix
