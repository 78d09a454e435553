// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Differs from the solution: tiles are transposed when they are stored in shared memory, and read
// along their rows.

#include <cuda_runtime.h>

#include "given.hpp"

namespace lab::transpose {
namespace {

constexpr unsigned kWarp = 32;       // threads of a block in x, in all steps
constexpr unsigned kThreadRows = 8;  // and in y, in naive and coarse_tile

// --- naive: neighbouring threads read neighbours, and write a whole row of the result apart ------

__global__ void naive(const float* from, float* to, std::size_t rows, std::size_t columns) {
  const std::size_t x = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  const std::size_t y = std::size_t{blockIdx.y} * blockDim.y + threadIdx.y;
  if (x >= columns || y >= rows) return;
  const float* const source = from + y * columns;
  float* const target = to + x * rows;
  target[y] = source[x];
}

void launch_naive(const float* from, float* to, std::size_t rows, std::size_t columns) {
  naive<<<grid_for(rows, columns, kThreadRows, kWarp), dim3(kWarp, kThreadRows)>>>(from, to, rows,
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
    elements[tx][ty] = from[(first_y + ty) * columns + first_x + tx];
  __syncthreads();
  if (first_x + ty < columns && first_y + tx < rows)
    to[(first_x + ty) * rows + first_y + tx] = elements[ty][tx];
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
  const unsigned tx = threadIdx.x, ty = threadIdx.y;
  const std::size_t first_x = std::size_t{blockIdx.x} * kSide;
  const std::size_t first_y = std::size_t{blockIdx.y} * kSide;
  float mine[kDown][kAcross];
#pragma unroll
  for (unsigned j = 0; j < kDown; ++j) {
#pragma unroll
    for (unsigned i = 0; i < kAcross; ++i) {
      const std::size_t y = first_y + ty + j * kThreadRows, x = first_x + tx + i * kWarp;
      mine[j][i] = y < rows && x < columns ? from[y * columns + x] : 0;
    }
  }
#pragma unroll
  for (unsigned j = 0; j < kDown; ++j)
#pragma unroll
    for (unsigned i = 0; i < kAcross; ++i)
      elements[tx + i * kWarp][ty + j * kThreadRows] = mine[j][i];
  __syncthreads();
#pragma unroll
  for (unsigned j = 0; j < kDown; ++j) {
#pragma unroll
    for (unsigned i = 0; i < kAcross; ++i) {
      const unsigned y = ty + j * kThreadRows, x = tx + i * kWarp;  // in the result's tile
      if (first_x + y < columns && first_y + x < rows)
        to[(first_x + y) * rows + first_y + x] = elements[y][x];
    }
  }
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
