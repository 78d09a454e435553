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
#include "lab/launch_limits.hpp"
#include "lab/refuse_if.hpp"
#include "lab/require_matrix.hpp"
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

/// An element of a matrix, zero where it has no such element.
__device__ inline float element_or_zero(const float* matrix, std::size_t rows, std::size_t columns,
                                        std::size_t row, std::size_t column) {
  return row < rows && column < columns ? matrix[row * columns + column] : 0;
}

// --- vectorized and the steps after it: whose is which element? ----------------------------------
// A block of tiling_8x8: 128 x 128 of C,   A warp: 32 x 64 of them, as 2 x 2 pieces of 16 x 32.
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
//       |   | 32  | warp 6 | warp 7 |         row, all 32 banks once. Eight floats per lane would
//       +---+     +--------+--------+         put them 32 bytes apart: two lanes on each bank.

constexpr unsigned kWarp = 32;
constexpr unsigned kPieceRows = 16, kPieceColumns = 32;  // four rows of eight lanes, 4 x 4 each

/// A block makes BM x BN elements of C in slices of BK along k, a thread TM x TN of them. At least
/// kResident blocks have room on a multiprocessor.
template <unsigned kBM, unsigned kBN, unsigned kBK, unsigned kTM, unsigned kTN, unsigned kBlocks>
struct tiling {
  static constexpr unsigned BM = kBM, BN = kBN, BK = kBK, TM = kTM, TN = kTN, kResident = kBlocks;
  static constexpr unsigned kThreads = BM * BN / (TM * TN);
  static constexpr unsigned kWarpRows = TM / 4 * kPieceRows, kWarpColumns = TN / 4 * kPieceColumns;
  static constexpr unsigned kPad = 4;  // floats of padding after each row of A in shared memory
  // A slice is loaded four floats at a time; these are the loads of a thread.
  static constexpr unsigned kFoursOfA = BM * BK / 4 / kThreads, kFoursOfB = BK * BN / 4 / kThreads;

  static_assert(TM % 4 == 0 && TN % 4 == 0, "a thread has 4 x 4 elements in each of its pieces");
  static_assert(BM % kWarpRows == 0 && BN % kWarpColumns == 0, "a block is made of whole warps");
  static_assert(kFoursOfA * kThreads * 4 == BM * BK && kFoursOfB * kThreads * 4 == BK * BN,
                "all threads load equally many fours");
  static_assert(4 * (BM + kPad) % 32 == 16, "rows i and i + 4 of A have different banks");
};
using tiling_8x8 = tiling<128, 128, 8, 8, 8, 2>;  // of vectorized and double_buffered
// Of by_size:
using large_tiling = tiling<128, 128, 8, 16, 8, 2>;
using medium_tiling = tiling<64, 128, 16, 8, 8, 3>;
using small_tiling = tiling<32, 64, 16, 4, 4, 6>;

/// How many blocks of a tiling C needs.
template <class Tiling>
std::size_t blocks_of(shape size) {
  return (size.m + Tiling::BM - 1) / Tiling::BM * ((size.n + Tiling::BN - 1) / Tiling::BN);
}

/// What a block has of A and B at a time, in shared memory.
template <class Tiling>
struct alignas(16) slice {
  float a[Tiling::BK][Tiling::BM + Tiling::kPad];  // transposed: a thread's rows are neighbours
  float b[Tiling::BK][Tiling::BN];                 // b[i][column]
};

/// A row and a column.
struct coordinates {
  unsigned row, column;
};

/// Where the j-th four of this thread is in a slice of a matrix, `columns` wide, of which each of
/// `threads` threads loads the same number of fours.
__device__ inline coordinates coordinates_of_four(unsigned j, unsigned threads, unsigned columns) {
  const unsigned four = j * threads + threadIdx.x;
  return {four / (columns / 4), four % (columns / 4) * 4};
}

/// The first of this thread's elements in the upper left piece of its warp, within the block's.
template <class Tiling>
__device__ coordinates coordinates_of_thread() {
  constexpr unsigned kAcross = Tiling::BN / Tiling::kWarpColumns;  // warps next to each other
  constexpr unsigned kLanesAcross = kPieceColumns / 4;             // lanes next to each other
  const unsigned warp = threadIdx.x / kWarp, lane = threadIdx.x % kWarp;
  return {warp / kAcross * Tiling::kWarpRows + lane / kLanesAcross * 4,
          warp % kAcross * Tiling::kWarpColumns + lane % kLanesAcross * 4};
}

/// Reads four neighbours from shared memory, at a 16-byte boundary.
__device__ inline void read_four(const float* from, float* to) {
  const float4 four = *reinterpret_cast<const float4*>(from);
  to[0] = four.x, to[1] = four.y, to[2] = four.z, to[3] = four.w;
}

/// Stores this thread's sums where C has such elements.
template <class Tiling, bool kAligned>
__device__ void store(const float (&sum)[Tiling::TM][Tiling::TN], coordinates mine, float* c,
                      shape size) {
#pragma unroll
  for (unsigned r = 0; r < Tiling::TM; ++r) {
    const std::size_t row =
        std::size_t{blockIdx.y} * Tiling::BM + mine.row + r / 4 * kPieceRows + r % 4;
    if (row >= size.m) continue;
#pragma unroll
    for (unsigned s = 0; s < Tiling::TN; s += 4) {
      const std::size_t column =
          std::size_t{blockIdx.x} * Tiling::BN + mine.column + s / 4 * kPieceColumns;
      float* to = c + row * size.n + column;
      if constexpr (kAligned) {
        if (column < size.n)
          *reinterpret_cast<float4*>(to) =
              make_float4(sum[r][s], sum[r][s + 1], sum[r][s + 2], sum[r][s + 3]);
      } else {
#pragma unroll
        for (unsigned j = 0; j < 4; ++j)
          if (column + j < size.n) to[j] = sum[r][s + j];
      }
    }
  }
}

}  // namespace lab::tiled_matmul
