// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 06.1 create_matrix: the program.

#include <cstddef>
#include <cstdio>
#include <limits>

#include "create_matrix.hpp"
#include "lab/closeness.hpp"
#include "lab/command_line.hpp"
#include "reference.hpp"

namespace {

void print(const lab::create_matrix::result& matrix, std::size_t rows, std::size_t columns) {
  constexpr std::size_t kMost = 20;
  if (rows > kMost || columns > kMost) return;
  for (std::size_t y = 0; y < rows; ++y) {
    for (std::size_t x = 0; x < columns; ++x) std::printf("%4d", matrix.elements[y * columns + x]);
    std::printf("\n");
  }
}

}  // namespace

int main(int argc, char** argv) {
  lab::program program("06.1_create_matrix",
                       "Makes the matrix A[y][x] = 10 y + x with any grid and block.");
  constexpr std::size_t kMost = std::numeric_limits<int>::max();
  constexpr std::size_t kUnset = 0;
  std::size_t size = 10, rows = kUnset, columns = kUnset;
  std::size_t grid_x = kUnset, grid_y = kUnset, block_x = kUnset, block_y = kUnset;
  program.add_size("--size", size, "rows and columns, where they are not given").at_most(kMost);
  program.add_size("--rows", rows, "rows; 0: as --size").at_most(kMost);
  program.add_size("--columns", columns, "columns; 0: as --size").at_most(kMost);
  program.add_size("--grid-x", grid_x, "blocks next to each other; 0: enough of 16 threads")
      .at_most(kMost);
  program.add_size("--grid-y", grid_y, "blocks one under the other; 0: enough of 16 threads")
      .at_most(kMost);
  program.add_size("--block-x", block_x, "threads of a block in x; 0: 16").at_most(kMost);
  program.add_size("--block-y", block_y, "threads of a block in y; 0: 16").at_most(kMost);

  return program.run(argc, argv, [&] {
    if (rows == kUnset) rows = size;
    if (columns == kUnset) columns = size;
    lab::create_matrix::launch_shape shape = lab::create_matrix::covering(rows, columns);
    if (grid_x != kUnset) shape.grid_x = static_cast<unsigned>(grid_x);
    if (grid_y != kUnset) shape.grid_y = static_cast<unsigned>(grid_y);
    if (block_x != kUnset) shape.block_x = static_cast<unsigned>(block_x);
    if (block_y != kUnset) shape.block_y = static_cast<unsigned>(block_y);

    const std::size_t bytes = rows * columns * sizeof(int);
    program.require_memory(2 * bytes, bytes);
    const auto matrix = lab::create_matrix::create(rows, columns, shape);
    std::printf("%zu rows, %zu columns; grid %u x %u, block %u x %u (x is across)\n", rows, columns,
                shape.grid_x, shape.grid_y, shape.block_x, shape.block_y);
    print(matrix, rows, columns);
    if (!program.verdict(
            lab::compare_exact(matrix.elements, lab::create_matrix::reference(rows, columns))))
      return false;
    program.report_kernel(
        [&] { return lab::create_matrix::create(rows, columns, shape).kernel_ms; },
        {.bytes = static_cast<double>(bytes)});
    return true;
  });
}
