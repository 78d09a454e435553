// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 18.1 wmma_product: what wmma_product.cu starts from. There is nothing to do in here.
#pragma once

#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <mma.h>

#include <cstddef>
#include <span>

#include "lab/cuda_check.hpp"
#include "lab/device_buffer.hpp"
#include "lab/errors.hpp"
#include "lab/launch_limits.hpp"
#include "lab/require_matrix.hpp"
#include "lab/time_kernel.hpp"
#include "wmma_product.hpp"

namespace lab::wmma_product {

namespace wmma = nvcuda::wmma;

constexpr unsigned kWarp = 32;
constexpr unsigned kTile = 16;  // a fragment is a matrix of kTile x kTile elements

// What the lanes of a warp hold together: a tile of A, of B, and of the sums.
using fragment_a = wmma::fragment<wmma::matrix_a, kTile, kTile, kTile, __half, wmma::row_major>;
using fragment_b = wmma::fragment<wmma::matrix_b, kTile, kTile, kTile, __half, wmma::row_major>;
using fragment_c = wmma::fragment<wmma::accumulator, kTile, kTile, kTile, float>;

/// Both matrices on the device, rounded to half, and their sizes.
struct factors {
  const __half *a, *b;
  shape size;
};

// --- one_tile_a_warp -----------------------------------------------------------------------------

constexpr unsigned kWarpsOfBlock = 4;  // side by side: they make 16 x 64 elements of C

/// Whether the tile whose first element is at `row` and `column` of a matrix is inside as a whole,
/// and can be loaded from there: rows must be a multiple of 16 bytes apart.
__device__ inline bool is_whole_tile(std::size_t rows, std::size_t columns, std::size_t row,
                                     std::size_t column) {
  return row + kTile <= rows && column + kTile <= columns && columns % 8 == 0;
}

/// The warp copies a tile of a matrix to shared memory, with zeros where the matrix has no
/// elements.
__device__ inline void copy_tile(const __half* matrix, std::size_t rows, std::size_t columns,
                                 std::size_t row, std::size_t column, __half (&to)[kTile][kTile]) {
  __syncwarp();  // all lanes have used what is overwritten
  for (unsigned i = threadIdx.x % kWarp; i < kTile * kTile; i += kWarp) {
    const std::size_t r = row + i / kTile, c = column + i % kTile;
    to[i / kTile][i % kTile] =
        r < rows && c < columns ? matrix[r * columns + c] : __float2half(0.0F);
  }
  __syncwarp();  // and see what the others have stored
}

/// The warp stores its sums where C has such elements. `patch` is shared memory of its own.
__device__ inline void store_sums(const fragment_c& sums, float* c, shape size, std::size_t row,
                                  std::size_t column, float (&patch)[kTile][kTile]) {
  if (row >= size.m || column >= size.n) return;
  if (row + kTile <= size.m && column + kTile <= size.n && size.n % 4 == 0) {
    wmma::store_matrix_sync(c + row * size.n + column, sums, static_cast<unsigned>(size.n),
                            wmma::mem_row_major);
    return;
  }
  __syncwarp();  // all lanes have read what is overwritten
  wmma::store_matrix_sync(&patch[0][0], sums, kTile, wmma::mem_row_major);
  __syncwarp();
  for (unsigned i = threadIdx.x % kWarp; i < kTile * kTile; i += kWarp) {
    const std::size_t r = row + i / kTile, s = column + i % kTile;
    if (r < size.m && s < size.n) c[r * size.n + s] = patch[i / kTile][i % kTile];
  }
}

// --- shared_tiles, register_blocks ---------------------------------------------------------------
// A block makes BM x BN elements of C in slices of BK along k. A warp makes WM x WN tiles of them.

template <unsigned kBM, unsigned kBN, unsigned kWM, unsigned kWN>
struct tiling {
  static constexpr unsigned BM = kBM, BN = kBN, BK = 32, WM = kWM, WN = kWN;
  static constexpr unsigned kWarpsAcross = BN / (WN * kTile);  // warps next to each other
  static constexpr unsigned kWarps = BM / (WM * kTile) * kWarpsAcross;
  static constexpr unsigned kThreads = kWarps * kWarp;
  // Halves after each row of a tile in shared memory. Modulo 128 bytes (all banks), the next row
  // then begins 80 bytes (A) or 16 bytes (B) further on: eight rows of 16 bytes fill all 32 banks.
  static constexpr unsigned kPad = 8;
  static_assert(BM % (WM * kTile) == 0 && BN % (WN * kTile) == 0, "a block is made of whole warps");
};
using tiling_shared = tiling<64, 64, 1, 1>;
using tiling_registers = tiling<128, 128, 4, 2>;

/// What a block has of A and B at a time, in shared memory, and a place for each warp's sums at the
/// borders of C.
template <class T>
struct alignas(32) block_tiles {
  __half a[T::BM][T::BK + T::kPad];
  __half b[T::BK][T::BN + T::kPad];
  alignas(32) float patch[T::kWarps][kTile][kTile];
};

/// Eight neighbours in a row of a matrix, zeros where it has no such elements. `column` is a
/// multiple of 8. kAligned: rows are multiples of 16 bytes, so all eight are there or none.
template <bool kAligned>
__device__ void copy_eight(const __half* matrix, std::size_t rows, std::size_t columns,
                           std::size_t row, std::size_t column, __half* to) {
  const __half* from = matrix + row * columns + column;
  if constexpr (kAligned) {
    uint4 eight = make_uint4(0, 0, 0, 0);  // a zero of any type
    if (row < rows && column < columns) eight = *reinterpret_cast<const uint4*>(from);
    *reinterpret_cast<uint4*>(to) = eight;
  } else {
#pragma unroll
    for (unsigned j = 0; j < 8; ++j)
      to[j] = row < rows && column + j < columns ? from[j] : __float2half(0.0F);
  }
}

/// The block's threads bring in the tiles of the slice that begins at `first`.
template <class T, bool kAligned>
__device__ void load_tiles(const factors& in, std::size_t first, block_tiles<T>& to) {
  for (unsigned i = threadIdx.x; i < T::BM * T::BK / 8; i += T::kThreads) {
    const unsigned y = i / (T::BK / 8), x = i % (T::BK / 8) * 8;
    copy_eight<kAligned>(in.a, in.size.m, in.size.k, std::size_t{blockIdx.y} * T::BM + y, first + x,
                         &to.a[y][x]);
  }
  for (unsigned i = threadIdx.x; i < T::BK * T::BN / 8; i += T::kThreads) {
    const unsigned y = i / (T::BN / 8), x = i % (T::BN / 8) * 8;
    copy_eight<kAligned>(in.b, in.size.k, in.size.n, first + y, std::size_t{blockIdx.x} * T::BN + x,
                         &to.b[y][x]);
  }
}

/// Whether rows of A and B begin at 16-byte boundaries. (cudaMalloc gives 256.)
inline bool rows_are_aligned(shape size) { return size.n % 8 == 0 && size.k % 8 == 0; }

/// The grid of blocks that make `rows` x `columns` elements of C each. x goes along the columns.
inline dim3 grid_for(shape size, std::size_t rows, std::size_t columns) {
  const std::size_t down = (size.m + rows - 1) / rows, across = (size.n + columns - 1) / columns;
  require_at_most(cudaDevAttrMaxGridDimY, down, "rows of blocks in a grid");
  return dim3(static_cast<unsigned>(across), static_cast<unsigned>(down));
}

// --- what comes before and after the kernels -----------------------------------------------------

/// Rounds to half, to the nearest, ties to even.
__global__ inline void round_to_halves(const float* from, __half* to, std::size_t n) {
  const std::size_t step = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += step)
    to[i] = __float2half_rn(from[i]);
}

inline device_buffer<__half> halves_of(std::span<const float> values) {
  const device_buffer from(values);
  device_buffer<__half> to(values.size());
  if (!values.empty()) {
    round_to_halves<<<256, 256>>>(from.data(), to.data(), values.size());
    CUDA_CHECK(cudaGetLastError());
    CUDA_CHECK(cudaDeviceSynchronize());  // `from` goes away
  }
  return to;
}

/// The product, with A and B brought to the device, rounded to half there, and C fetched.
/// launch(in, c) launches the kernel.
template <class Launch>
result multiply_by(std::span<const float> a, std::span<const float> b, shape size,
                   const Launch& launch) {
  require_matrix("wmma_product: A", a.size(), size.m, size.k);
  require_matrix("wmma_product: B", b.size(), size.k, size.n);
  if (size.m == 0 || size.n == 0) return {};  // a grid of no blocks would be an error
  const device_buffer<__half> half_a = halves_of(a), half_b = halves_of(b);
  device_buffer<float> c(size.m * size.n);
  const factors in{half_a.data(), half_b.data(), size};
  const float kernel_ms = time_kernel([&] { launch(in, c.data()); });
  return {c.to_vector(), kernel_ms};
}

}  // namespace lab::wmma_product
