// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 06.5 tiled_matmul: what tiled_matmul.cu starts from. There is nothing to do in here.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <string>

#include "lab/cuda_check.hpp"
#include "lab/device_buffer.hpp"
#include "lab/errors.hpp"
#include "lab/refuse_if.hpp"
#include "lab/time_kernel.hpp"
#include "tiled_matmul.hpp"

namespace lab::tiled_matmul {

/// The grid of blocks that make `rows` x `columns` elements of C each. x goes along the columns.
inline dim3 grid_for(shape size, std::size_t rows, std::size_t columns) {
  int device = 0, limit = 0;
  CUDA_CHECK(cudaGetDevice(&device));
  CUDA_CHECK(cudaDeviceGetAttribute(&limit, cudaDevAttrMaxGridDimY, device));
  const std::size_t down = (size.m + rows - 1) / rows;
  const std::size_t across = (size.n + columns - 1) / columns;
  refuse_if(down > static_cast<std::size_t>(limit), "tiled_matmul: ", size.m, " rows need ", down,
            " rows of blocks, and a grid has at most ", limit);
  return dim3(static_cast<unsigned>(across), static_cast<unsigned>(down));
}

/// Whether `elements` is rows * columns; asked by division, since that product may overflow.
inline bool is_product(std::size_t elements, std::size_t rows, std::size_t columns) {
  if (rows == 0 || columns == 0) return elements == 0;
  return elements / rows == columns && elements % rows == 0;
}

inline void require_matrix(const char* name, std::size_t elements, std::size_t rows,
                           std::size_t columns) {
  refuse_if(!is_product(elements, rows, columns), "tiled_matmul: ", name, " has ", elements,
            " elements, and ", rows, " x ", columns, " are needed");
}

// In `tiled` every multiply-add waits for two reads of shared memory, and there are four times as
// many multiply-adds a cycle as reads. Here a thread reads 8 numbers of A and 8 of B, and makes
// 64 multiply-adds of them: every number that comes out of shared memory is used 8 times.
//
// A block: 128 x 128 elements of C,         A warp: 32 x 64 of them, as 2 x 2 pieces of 16 x 32.
// made by 8 warps, in slices of 8 along k.  In each piece a lane owns 4 x 4:
//
//                 +--------+--------+                   columns  0   4   8      28   32 … 63
//        slice: 8 |        B        |                   rows    +---+---+--   --+---++--------
//                 +--------+--------+                    0 …  3 | 0 | 1 | 2 …   | 7 || 0 | 1 …
//         8         64       64                          4 …  7 | 8 | 9 | …     |15 || 8 | 9 …
//       +---+     +--------+--------+                    8 … 11 |16 |17 | …     |23 ||16 | …
//       |   | 32  | warp 0 | warp 1 |                   12 … 15 |24 |25 | …     |31 ||24 | …
//       |   |     +--------+--------+                           +===+===+==   ==+===++========
//       | A | 32  | warp 2 | warp 3 |                   16 … 31 | 0 | 1 | 2 …   | 7 || 0 | 1 …
//       |   |     +--------+--------+
//       |   | 32  | warp 4 | warp 5 |         Why pieces, and not 8 x 8 in one? Eight lanes read
//       |   |     +--------+--------+         4 floats of B each, 16 bytes apart: 128 bytes in a
//       |   | 32  | warp 6 | warp 7 |         row, all 32 banks once. Eight floats a lane would
//       +---+     +--------+--------+         put them 32 bytes apart: two lanes on each bank.
//
// Requires blocks of kThreads threads in one dimension.

constexpr unsigned kThreads = 256;
constexpr unsigned kWarp = 32;
constexpr unsigned kBlock = 128;  // rows and columns of C that a block makes
constexpr unsigned kSlice = 8;    // how much of k is in shared memory at a time
constexpr unsigned kFour = 4;     // a float4: what is loaded, stored and read at a time
constexpr unsigned kMine = 8;     // rows and columns of C that a thread makes, as two times kFour
constexpr unsigned kPieceRows = 16, kPieceColumns = 32;  // four rows of eight lanes, 4 x 4 each
constexpr unsigned kWarpRows = 2 * kPieceRows, kWarpColumns = 2 * kPieceColumns;
constexpr unsigned kPad = 4;  // floats behind each row of A in shared memory: see below

static_assert(kMine == 2 * kFour, "a thread's rows are four in one piece and four in the next");
static_assert((kPieceRows / kFour) * (kPieceColumns / kFour) == kWarp, "one 4 x 4 for each lane");
static_assert(kBlock * kBlock == kThreads * kMine * kMine, "the threads make all of the block's C");
static_assert(kBlock * kSlice == kThreads * kFour, "one float4 of A and one of B for each thread");
static_assert((kBlock + kPad) % kFour == 0, "rows in shared memory keep the alignment of float4");
static_assert(kFour * (kBlock + kPad) % 32 == 16, "storing A transposed hits every bank once");

/// What a block has of A and B at a time, in shared memory.
struct alignas(16) slice {
  float a[kSlice][kBlock + kPad];  // transposed, a[i][row]: a thread's four rows are neighbours
  float b[kSlice][kBlock];         // b[i][column]
};

/// A row and a column within the 128 x 128 elements of a block.
struct place {
  unsigned row, column;
};

/// The first of this thread's elements in the upper left piece of its warp. Its others are up to 3
/// further, and kPieceRows down, and kPieceColumns to the right.
__device__ inline place my_place() {
  constexpr unsigned kAcross = kBlock / kWarpColumns;       // warps next to each other
  constexpr unsigned kLanesAcross = kPieceColumns / kFour;  // lanes next to each other
  const unsigned warp = threadIdx.x / kWarp, lane = threadIdx.x % kWarp;
  return {warp / kAcross * kWarpRows + lane / kLanesAcross * kFour,
          warp % kAcross * kWarpColumns + lane % kLanesAcross * kFour};
}

/// How far the i-th of a thread's 8 rows (or columns) is from its first; `piece` is kPieceRows (or
/// kPieceColumns).
__device__ inline constexpr unsigned offset(unsigned i, unsigned piece) {
  return i / kFour * piece + i % kFour;
}

/// Reads four neighbours from shared memory, at a 16-byte boundary.
__device__ inline void read_four(const float* from, float* to) {
  const float4 four = *reinterpret_cast<const float4*>(from);
  to[0] = four.x, to[1] = four.y, to[2] = four.z, to[3] = four.w;
}

/// Stores this thread's 8 x 8 sums where C has such elements.
template <bool kAligned>
__device__ void store(const float (&sum)[kMine][kMine], place mine, float* c, shape size) {
#pragma unroll
  for (unsigned r = 0; r < kMine; ++r) {
    const std::size_t row = std::size_t{blockIdx.y} * kBlock + mine.row + offset(r, kPieceRows);
    if (row >= size.m) continue;
#pragma unroll
    for (unsigned s = 0; s < kMine; s += kFour) {
      const std::size_t column =
          std::size_t{blockIdx.x} * kBlock + mine.column + offset(s, kPieceColumns);
      float* to = c + row * size.n + column;
      if constexpr (kAligned) {
        if (column < size.n)
          *reinterpret_cast<float4*>(to) =
              make_float4(sum[r][s], sum[r][s + 1], sum[r][s + 2], sum[r][s + 3]);
      } else {
#pragma unroll
        for (unsigned j = 0; j < kFour; ++j)
          if (column + j < size.n) to[j] = sum[r][s + j];
      }
    }
  }
}

}  // namespace lab::tiled_matmul
