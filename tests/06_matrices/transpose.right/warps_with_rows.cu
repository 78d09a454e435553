// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Differs from the solution: naive writes along the rows of the result, and coarse_tile gives a
// warp eight neighbouring rows, loads no zeros and stores in loops with ends.

#include <cooperative_groups.h>
#include <cuda_runtime.h>

#include "given.hpp"

namespace lab::transpose {
namespace {

constexpr unsigned kWarp = 32;       // threads of a block in x, in all steps
constexpr unsigned kThreadRows = 8;  // and in y, in naive and coarse_tile

// --- naive: neighbouring threads read neighbours, and write a whole row of the result apart ------

__global__ void naive(const float* from, float* to, std::size_t rows, std::size_t columns) {
  // Along the rows of the result: a block has 8 columns of the matrix and 32 of its rows.
  const unsigned thread = threadIdx.y * kWarp + threadIdx.x;
  const std::size_t y = std::size_t{blockIdx.y} * kWarp + thread % kWarp;
  const std::size_t x = std::size_t{blockIdx.x} * kThreadRows + thread / kWarp;
  if (x < columns && y < rows) to[x * rows + y] = from[y * columns + x];
}

void launch_naive(const float* from, float* to, std::size_t rows, std::size_t columns) {
  naive<<<grid_for(rows, columns, kWarp, kThreadRows), dim3(kWarp, kThreadRows)>>>(from, to, rows,
                                                                                   columns);
}

// --- tile: transposed in shared memory -----------------------------------------------------------
// A block copies a tile into shared memory row by row, and out of it column by column: so a warp
// writes a row to global memory again. Requires blocks of kWarp x kWarp threads.

template <unsigned kRowLength>  // in shared memory: at least kWarp
__global__ void tile(const float* from, float* to, std::size_t rows, std::size_t columns) {
  __shared__ float elements[kWarp][kRowLength];  // [y][x], as in the matrix
  const unsigned tx = threadIdx.x, ty = threadIdx.y;
  const std::size_t first_x = std::size_t{blockIdx.x} * kWarp;
  const std::size_t first_y = std::size_t{blockIdx.y} * kWarp;
  if (first_x + tx < columns && first_y + ty < rows)
    elements[ty][tx] = from[(first_y + ty) * columns + first_x + tx];
  __syncthreads();
  if (first_x + ty < columns && first_y + tx < rows)
    to[(first_x + ty) * rows + first_y + tx] = elements[tx][ty];
}

void launch_tile(const float* from, float* to, std::size_t rows, std::size_t columns) {
  tile<kWarp>
      <<<grid_for(rows, columns, kWarp, kWarp), dim3(kWarp, kWarp)>>>(from, to, rows, columns);
}

// --- padded_tile: the same kernel, without bank conflicts ----------------------------------------

void launch_padded_tile(const float* from, float* to, std::size_t rows, std::size_t columns) {
  tile<kWarp + 1>
      <<<grid_for(rows, columns, kWarp, kWarp), dim3(kWarp, kWarp)>>>(from, to, rows, columns);
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
  const auto block = cooperative_groups::this_thread_block();
  const unsigned lane = block.thread_rank() % kWarp, warp = block.thread_rank() / kWarp;
  const std::size_t first_column = static_cast<std::size_t>(blockIdx.x) * kSide;
  const std::size_t first_row = static_cast<std::size_t>(blockIdx.y) * kSide;
  // A warp takes kDown neighbouring rows, the left halves of all of them first.
  float held[kAcross * kDown];
#pragma unroll
  for (unsigned e = 0; e < kAcross * kDown; ++e) {
    const std::size_t row = first_row + warp * kDown + e % kDown;
    const std::size_t column = first_column + e / kDown * kWarp + lane;
    if (row < rows && column < columns) held[e] = __ldg(from + row * columns + column);
  }
#pragma unroll
  for (unsigned e = 0; e < kAcross * kDown; ++e) {
    const std::size_t row = warp * kDown + e % kDown, column = e / kDown * kWarp + lane;
    if (first_row + row < rows && first_column + column < columns) elements[row][column] = held[e];
  }
  block.sync();
  const std::size_t high = rows - first_row < kSide ? rows - first_row : kSide;
  for (unsigned row = warp; row < kSide && first_column + row < columns; row += kThreadRows)
    for (unsigned column = lane; column < high; column += kWarp)
      to[(first_column + row) * rows + first_row + column] = elements[column][row];
}

void launch_coarse_tile(const float* from, float* to, std::size_t rows, std::size_t columns) {
  coarse_tile<<<grid_for(rows, columns, kSide, kSide), dim3(kWarp, kThreadRows)>>>(from, to, rows,
                                                                                   columns);
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
