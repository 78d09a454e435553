// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 06.2 transpose: rows become columns, yet memory is both read and written along its rows.
// Edit:  this file, from TODO(1) to TODO(7). transpose.hpp has the contract.
// Run:   scripts/lab run 06.2 -- --step naive       (tile, padded_tile, coarse_tile)
// Test:  scripts/lab test 06.2
// Hints: scripts/lab hint 06.2                      Chapter: docs/06_matrices.md

#include <cuda_runtime.h>

#include "given.hpp"

namespace lab::transpose {
namespace {

constexpr unsigned kWarp = 32;       // threads of a block in x, in all steps
constexpr unsigned kThreadRows = 8;  // and in y, in naive and coarse_tile

// --- naive: neighbouring threads read neighbours, and write a whole row of the result apart ------

__global__ void naive(const float* from, float* to, std::size_t rows, std::size_t columns) {
  // TODO(1): this thread moves one element: from row y and column x to row x and column y. The two
  //          matrices have rows of different lengths. Nothing outside them is accessed.
  // BEGIN SOLUTION
  const std::size_t x = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  const std::size_t y = std::size_t{blockIdx.y} * blockDim.y + threadIdx.y;
  if (y < rows && x < columns) to[x * rows + y] = from[y * columns + x];
  // END SOLUTION
}

void launch_naive(const float* from, float* to, std::size_t rows, std::size_t columns) {
  // TODO(2): launch naive in blocks of kWarp x kThreadRows threads; grid_for() takes rows first.
  // BEGIN SOLUTION
  // STUB: throw not_written("step naive", 1);  // 1 and 2 are this step
  const dim3 block(kWarp, kThreadRows);
  naive<<<grid_for(rows, columns, kThreadRows, kWarp), block>>>(from, to, rows, columns);
  // END SOLUTION
}

// --- tile: transposed in shared memory -----------------------------------------------------------
// A block copies a tile into shared memory row by row, and out of it column by column: so a warp
// writes a row to global memory again. Requires blocks of kWarp x kWarp threads.

template <unsigned kRowLength>  // in shared memory: at least kWarp
__global__ void tile(const float* from, float* to, std::size_t rows, std::size_t columns) {
  __shared__ float elements[kWarp][kRowLength];  // [y][x], as in the matrix
  // TODO(3): load the block's tile into shared memory, each thread one element, then write the
  //          transposed tile to its position in the result.
  //          Invariants: neighbours in x read neighbours in memory, and write neighbours. No
  //          thread reads an element of the tile before it has been stored: every thread reaches
  //          the barrier, even those outside the matrix.
  // BEGIN SOLUTION
  const unsigned tx = threadIdx.x, ty = threadIdx.y;
  const std::size_t first_x = std::size_t{blockIdx.x} * kWarp;  // the tile's corner in the matrix
  const std::size_t first_y = std::size_t{blockIdx.y} * kWarp;
  if (first_y + ty < rows && first_x + tx < columns)
    elements[ty][tx] = from[(first_y + ty) * columns + first_x + tx];
  __syncthreads();  // outside the if: all threads of the block arrive

  // In the result x is the row: this thread writes row first_x + ty, and its neighbour in x the
  // next element.
  if (first_x + ty < columns && first_y + tx < rows)
    to[(first_x + ty) * rows + first_y + tx] = elements[tx][ty];
  // END SOLUTION
}

void launch_tile(const float* from, float* to, std::size_t rows, std::size_t columns) {
  // TODO(4): launch it: a block of kWarp x kWarp threads for each tile.
  // BEGIN SOLUTION
  // STUB: throw not_written("step tile", 3);  // 3 and 4 are this step
  const dim3 block(kWarp, kWarp);
  tile<kWarp><<<grid_for(rows, columns, kWarp, kWarp), block>>>(from, to, rows, columns);
  // END SOLUTION
}

// --- padded_tile: the same kernel, without bank conflicts ----------------------------------------

void launch_padded_tile(const float* from, float* to, std::size_t rows, std::size_t columns) {
  // TODO(5): launch `tile` again, with a different row length in shared memory, chosen so that the
  //          elements of a column are in kWarp different banks.
  // BEGIN SOLUTION
  // STUB: throw not_written("step padded_tile", 5);
  const dim3 block(kWarp, kWarp);
  tile<kWarp + 1><<<grid_for(rows, columns, kWarp, kWarp), block>>>(from, to, rows, columns);
  // END SOLUTION
}

// --- coarse_tile: many loads in flight -----------------------------------------------------------
// A thread has 16 elements: it issues the loads of all of them before it waits for the first.
// Requires blocks of kWarp x kThreadRows threads.

constexpr unsigned kSide = 64;  // of the tile: two warps wide
constexpr unsigned kAcross = kSide / kWarp, kDown = kSide / kThreadRows;
static_assert(kSide % kWarp == 0 && kSide % kThreadRows == 0, "the same work for each thread");

__global__ void __launch_bounds__(kWarp* kThreadRows)
    coarse_tile(const float* from, float* to, std::size_t rows, std::size_t columns) {
  __shared__ float elements[kSide][kSide + 1];  // padded, too
  // TODO(6): as in `tile`, but this thread has kDown rows, kThreadRows apart, and in each of them
  //          kAcross elements, kWarp apart. First load them all into a local array, then store
  //          them in the tile: the loads do not wait for each other. Unrolled loops with constant
  //          bounds keep that array in registers.
  // BEGIN SOLUTION
  const unsigned tx = threadIdx.x, ty = threadIdx.y;
  const std::size_t first_x = std::size_t{blockIdx.x} * kSide;
  const std::size_t first_y = std::size_t{blockIdx.y} * kSide;

  float mine[kDown][kAcross];
  std::size_t at = (first_y + ty) * columns + first_x + tx;  // multiplied once, then added to
#pragma unroll
  for (unsigned j = 0; j < kDown; ++j, at += kThreadRows * columns) {
#pragma unroll
    for (unsigned i = 0; i < kAcross; ++i) {
      const bool inside =
          first_y + ty + j * kThreadRows < rows && first_x + tx + i * kWarp < columns;
      mine[j][i] = inside ? from[at + i * kWarp] : 0;
    }
  }
#pragma unroll
  for (unsigned j = 0; j < kDown; ++j) {
#pragma unroll
    for (unsigned i = 0; i < kAcross; ++i)
      elements[ty + j * kThreadRows][tx + i * kWarp] = mine[j][i];
  }
  __syncthreads();  // the tile is complete

  at = (first_x + ty) * rows + first_y + tx;
#pragma unroll
  for (unsigned j = 0; j < kDown; ++j, at += kThreadRows * rows) {
#pragma unroll
    for (unsigned i = 0; i < kAcross; ++i) {
      const bool inside =
          first_x + ty + j * kThreadRows < columns && first_y + tx + i * kWarp < rows;
      const float element = elements[tx + i * kWarp][ty + j * kThreadRows];
      if (inside) to[at + i * kWarp] = element;
    }
  }
  // END SOLUTION
}

void launch_coarse_tile(const float* from, float* to, std::size_t rows, std::size_t columns) {
  // TODO(7): launch it: a block of kWarp x kThreadRows threads for each tile of kSide x kSide.
  // BEGIN SOLUTION
  // STUB: throw not_written("step coarse_tile", 6);  // 6 and 7 are this step
  const dim3 block(kWarp, kThreadRows);
  coarse_tile<<<grid_for(rows, columns, kSide, kSide), block>>>(from, to, rows, columns);
  // END SOLUTION
}

// --- given ---------------------------------------------------------------------------------------

void launch(step version, const float* from, float* to, std::size_t rows, std::size_t columns) {
  switch (version) {
    case step::naive:
      return launch_naive(from, to, rows, columns);
    case step::tile:
      return launch_tile(from, to, rows, columns);
    case step::padded_tile:
      return launch_padded_tile(from, to, rows, columns);
    case step::coarse_tile:
      return launch_coarse_tile(from, to, rows, columns);
  }
  throw invalid_input("transpose: there is no such step");
}

}  // namespace

result transpose(step version, std::span<const float> matrix, std::size_t rows,
                 std::size_t columns) {
  refuse_if(!has_shape(matrix.size(), rows, columns), "transpose: the matrix has ", matrix.size(),
            " elements, and ", rows, " x ", columns, " are needed");
  if (matrix.empty()) return {};  // a grid of no blocks would be an error

  const device_buffer from(matrix);
  device_buffer<float> to(matrix.size());
  const float kernel_ms =
      time_kernel([&] { launch(version, from.data(), to.data(), rows, columns); });

  result out{to.to_vector()};  // waits until the kernel is done
  out.kernel_ms = kernel_ms;
  return out;
}

}  // namespace lab::transpose
