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
}

void launch_naive(const float* from, float* to, std::size_t rows, std::size_t columns) {
  // TODO(2): launch naive in blocks of kWarp x kThreadRows threads; grid_for() takes rows first.
  throw not_written("step naive", 1);  // 1 and 2 are this step
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
}

void launch_tile(const float* from, float* to, std::size_t rows, std::size_t columns) {
  // TODO(4): launch it: a block of kWarp x kWarp threads for each tile.
  throw not_written("step tile", 3);  // 3 and 4 are this step
}

// --- padded_tile: the same kernel, without bank conflicts ----------------------------------------

void launch_padded_tile(const float* from, float* to, std::size_t rows, std::size_t columns) {
  // TODO(5): launch `tile` again, with a different row length in shared memory, chosen so that the
  //          elements of a column are in kWarp different banks.
  throw not_written("step padded_tile", 5);
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
}

void launch_coarse_tile(const float* from, float* to, std::size_t rows, std::size_t columns) {
  // TODO(7): launch it: a block of kWarp x kThreadRows threads for each tile of kSide x kSide.
  throw not_written("step coarse_tile", 6);  // 6 and 7 are this step
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
