// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 17.2 async_copy: what async_copy.cu starts from. There is nothing to do in here.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cuda/pipeline>
#include <span>
#include <type_traits>

#include "async_copy.hpp"
#include "lab/cuda_check.hpp"
#include "lab/device_buffer.hpp"
#include "lab/errors.hpp"
#include "lab/launch_limits.hpp"
#include "lab/refuse_if.hpp"
#include "lab/require_matrix.hpp"
#include "lab/time_kernel.hpp"

namespace lab::async_copy {

// A block makes kTile x kTile elements of C. Thread (x, y) makes kRows of them: those of column x
// in the rows y, y + 8, y + 16 and y + 24.
constexpr unsigned kTile = 32, kRows = 4, kThreads = kTile * kTile / kRows;
const dim3 kBlock(kTile, kTile / kRows);

/// Both matrices on the device, and their sizes.
struct factors {
  const float *a, *b;
  shape size;
};

/// A tile of A and a tile of B, in shared memory.
struct alignas(16) tiles {
  float a[kTile][kTile];  // [row of C][i]
  float b[kTile][kTile];  // [i][column of C]
};
static_assert(kTile * kTile == 4 * kThreads, "a thread brings in four elements of each tile");

/// Four neighbours that a thread brings into shared memory.
struct piece {
  float* to;          ///< in a tile, at a 16-byte boundary
  const float* from;  ///< in the matrix; null if it has none of them
  unsigned there;  ///< so many of them the matrix has, the first ones; zeros stand for the others
};

/// The piece at `row` and `column` of a matrix of rows x columns.
__device__ inline piece piece_at(const float* matrix, std::size_t rows, std::size_t columns,
                                 std::size_t row, std::size_t column, float* to) {
  if (row >= rows || column >= columns) return {to, nullptr, 0};
  const std::size_t left = columns - column;
  return {to, matrix + row * columns + column, left < 4 ? static_cast<unsigned>(left) : 4U};
}

/// This thread's piece of the tile of A whose columns begin at `first`, and of the tile of B whose
/// rows begin there. Neighbours in x have neighbouring pieces, in memory too.
__device__ inline piece piece_of_a(const factors& in, std::size_t first, tiles& to) {
  const unsigned i = threadIdx.y * kTile + threadIdx.x, y = i / (kTile / 4),
                 x = i % (kTile / 4) * 4;
  return piece_at(in.a, in.size.m, in.size.k, std::size_t{blockIdx.y} * kTile + y, first + x,
                  &to.a[y][x]);
}
__device__ inline piece piece_of_b(const factors& in, std::size_t first, tiles& to) {
  const unsigned i = threadIdx.y * kTile + threadIdx.x, y = i / (kTile / 4),
                 x = i % (kTile / 4) * 4;
  return piece_at(in.b, in.size.k, in.size.n, first + y, std::size_t{blockIdx.x} * kTile + x,
                  &to.b[y][x]);
}

/// Whether rows of A and B begin at 16-byte boundaries (cudaMalloc gives 256). Then a piece is
/// there as a whole or not at all, and what is there is at such a boundary.
inline bool rows_are_aligned(shape size) { return size.n % 4 == 0 && size.k % 4 == 0; }

/// Brings in a piece through registers: the thread waits until what it loads has arrived.
template <bool kAligned>
__device__ void load(piece p) {
  float4 four = make_float4(0, 0, 0, 0);
  if constexpr (kAligned) {
    if (p.there != 0) four = *reinterpret_cast<const float4*>(p.from);
  } else {
    if (p.there > 0) four.x = p.from[0];
    if (p.there > 1) four.y = p.from[1];
    if (p.there > 2) four.z = p.from[2];
    if (p.there > 3) four.w = p.from[3];
  }
  *reinterpret_cast<float4*>(p.to) = four;
}

/// Adds the products of two tiles to this thread's sums.
__device__ inline void add_products(const tiles& from, float (&sum)[kRows]) {
#pragma unroll
  for (unsigned i = 0; i < kTile; ++i) {
    const float of_b = from.b[i][threadIdx.x];
#pragma unroll
    for (unsigned r = 0; r < kRows; ++r)
      sum[r] += from.a[threadIdx.y + r * (kTile / kRows)][i] * of_b;
  }
}

/// Stores this thread's sums where C has such elements.
__device__ inline void store(const float (&sum)[kRows], float* c, shape size) {
  const std::size_t column = std::size_t{blockIdx.x} * kTile + threadIdx.x;
  const std::size_t first_row = std::size_t{blockIdx.y} * kTile + threadIdx.y;
#pragma unroll
  for (unsigned r = 0; r < kRows; ++r) {
    const std::size_t row = first_row + r * (kTile / kRows);
    if (row < size.m && column < size.n) c[row * size.n + column] = sum[r];
  }
}

/// The grid of blocks that make C. x goes along the columns.
inline dim3 grid_for(shape size) {
  const std::size_t down = (size.m + kTile - 1) / kTile, across = (size.n + kTile - 1) / kTile;
  require_at_most(cudaDevAttrMaxGridDimY, down, "rows of blocks in a grid");
  return dim3(static_cast<unsigned>(across), static_cast<unsigned>(down));
}

// --- what cannot be multiplied -------------------------------------------------------------------

inline void check_input(std::size_t a, std::size_t b, shape size, int stages) {
  require_matrix("async_copy: A", a, size.m, size.k);
  require_matrix("async_copy: B", b, size.k, size.n);
  refuse_if(stages < kFewestStages || stages > kMostStages, "async_copy: ", stages,
            " stages; take ", kFewestStages, " to ", kMostStages);
}

/// The product, with A and B brought to the device and C fetched. launch(aligned, in, c) launches
/// the kernel; the type of `aligned` is std::true_type or std::false_type.
template <class Launch>
result multiply_by(std::span<const float> a, std::span<const float> b, shape size, int stages,
                   const Launch& launch) {
  check_input(a.size(), b.size(), size, stages);
  if (size.m == 0 || size.n == 0) return {};  // a grid of no blocks would be an error
  const device_buffer device_a(a), device_b(b);
  device_buffer<float> c(size.m * size.n);
  const factors in{device_a.data(), device_b.data(), size};
  const float kernel_ms = time_kernel([&] {
    if (rows_are_aligned(size))
      launch(std::true_type{}, in, c.data());
    else
      launch(std::false_type{}, in, c.data());
  });
  return {c.to_vector(), kernel_ms};
}

}  // namespace lab::async_copy
