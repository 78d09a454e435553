// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 18.1 wmma_product: C = A · B on tensor cores, with halves for A and B and floats for C.
// Edit:  this file, from TODO(1) to TODO(6). Contract: wmma_product.hpp
// Run:   scripts/lab run 18.1 -- --step one_tile_a_warp     (then shared_tiles, register_blocks)
// Test:  scripts/lab test 18.1
// Hints: scripts/lab hint 18.1                  Chapter: docs/18_tensor_cores.md

#include <cuda_runtime.h>
#include <mma.h>

#include "given.hpp"

namespace lab::wmma_product {
namespace {

/// Loads the tile at `row` and `column` of a matrix into a fragment. All lanes of the warp call it
/// with the same arguments. `copy` is shared memory of this warp.
template <class Fragment>
__device__ void load_fragment(Fragment& fragment, const __half* matrix, std::size_t rows,
                              std::size_t columns, std::size_t row, std::size_t column,
                              __half (&copy)[kTile][kTile]) {
  // TODO(1): load_matrix_sync() from the matrix, if is_whole_tile() says so. Otherwise copy_tile()
  //          it, and load the copy. Invariant: no lane reads an element that does not exist.
  // BEGIN SOLUTION
  if (is_whole_tile(rows, columns, row, column)) {  // the same for all lanes
    wmma::load_matrix_sync(fragment, matrix + row * columns + column,
                           static_cast<unsigned>(columns));
  } else {
    copy_tile(matrix, rows, columns, row, column, copy);
    wmma::load_matrix_sync(fragment, &copy[0][0], kTile);
  }
  // END SOLUTION
}

__global__ void __launch_bounds__(kWarpsOfBlock* kWarp) one_tile_a_warp(factors in, float* c) {
  __shared__ alignas(32) __half copy[kWarpsOfBlock][kTile][kTile];
  __shared__ alignas(32) float patch[kWarpsOfBlock][kTile][kTile];
  const unsigned warp = threadIdx.x / kWarp;
  const std::size_t row = std::size_t{blockIdx.y} * kTile;
  const std::size_t column = (std::size_t{blockIdx.x} * kWarpsOfBlock + warp) * kTile;
  // TODO(2): this warp computes the tile of C at `row` and `column`. Start with sums of 0. For each
  //          tile along k load a fragment of A and one of B, and add their product. store_sums().
  // BEGIN SOLUTION
  fragment_a a;
  fragment_b b;
  fragment_c sums;
  wmma::fill_fragment(sums, 0.0F);
  for (std::size_t first = 0; first < in.size.k; first += kTile) {
    load_fragment(a, in.a, in.size.m, in.size.k, row, first, copy[warp]);
    load_fragment(b, in.b, in.size.k, in.size.n, first, column, copy[warp]);
    wmma::mma_sync(sums, a, b, sums);
  }
  store_sums(sums, c, in.size, row, column, patch[warp]);
  // END SOLUTION
}

/// For shared_tiles and register_blocks: adds the products of a slice to this warp's sums, WM x WN
/// tiles of them. `row` and `column` give the warp's first tile within the block's.
template <class T>
__device__ void multiply_slice(const block_tiles<T>& from, unsigned row, unsigned column,
                               fragment_c (&sums)[T::WM][T::WN]) {
  // TODO(3): a slice is BK elements of k, so BK / kTile fragments. For each of them load WM
  //          fragments of A and WN of B, each once, and multiply all pairs of them.
  //          The rows of from.a and from.b are not BK or BN apart: given.hpp pads them.
  // BEGIN SOLUTION
#pragma unroll
  for (unsigned i = 0; i < T::BK; i += kTile) {
    fragment_a a[T::WM];
    fragment_b b[T::WN];
#pragma unroll
    for (unsigned y = 0; y < T::WM; ++y)
      wmma::load_matrix_sync(a[y], &from.a[row + y * kTile][i], T::BK + T::kPad);
#pragma unroll
    for (unsigned x = 0; x < T::WN; ++x)
      wmma::load_matrix_sync(b[x], &from.b[i][column + x * kTile], T::BN + T::kPad);
#pragma unroll
    for (unsigned y = 0; y < T::WM; ++y)
#pragma unroll
      for (unsigned x = 0; x < T::WN; ++x) wmma::mma_sync(sums[y][x], a[y], b[x], sums[y][x]);
  }
  // END SOLUTION
}

template <class T, bool kAligned>
__global__ void __launch_bounds__(T::kThreads) from_shared_memory(factors in, float* c) {
  __shared__ block_tiles<T> tiles;
  const unsigned warp = threadIdx.x / kWarp;
  const unsigned row = warp / T::kWarpsAcross * T::WM * kTile;
  const unsigned column = warp % T::kWarpsAcross * T::WN * kTile;
  fragment_c sums[T::WM][T::WN];
  // TODO(4): start with sums of 0. Take k in slices of BK: for each load_tiles(), multiply_slice().
  //          Invariants: no warp reads a tile that is incomplete, or overwrites one that another
  //          warp still reads.
  // BEGIN SOLUTION
#pragma unroll
  for (unsigned i = 0; i < T::WM * T::WN; ++i)
    wmma::fill_fragment(sums[i / T::WN][i % T::WN], 0.0F);
  for (std::size_t first = 0; first < in.size.k; first += T::BK) {
    load_tiles<T, kAligned>(in, first, tiles);
    __syncthreads();  // the tiles are complete
    multiply_slice<T>(tiles, row, column, sums);
    __syncthreads();  // all warps have read them
  }
  // END SOLUTION

  // TODO(5): store_sums() for each of the warp's tiles, at its position in C.
  // BEGIN SOLUTION
#pragma unroll
  for (unsigned y = 0; y < T::WM; ++y)
#pragma unroll
    for (unsigned x = 0; x < T::WN; ++x)
      store_sums(sums[y][x], c, in.size, std::size_t{blockIdx.y} * T::BM + row + y * kTile,
                 std::size_t{blockIdx.x} * T::BN + column + x * kTile, tiles.patch[warp]);
  // END SOLUTION
}

template <class T>
void launch_from_shared_memory(const factors& in, float* c) {
  // TODO(6): launch from_shared_memory<T, true>, or <T, false> if rows are not aligned.
  // BEGIN SOLUTION
  // STUB: throw not_written("step shared_tiles (or register_blocks)", 3);  // 3 to 6 are these
  const dim3 grid = grid_for(in.size, T::BM, T::BN);
  if (rows_are_aligned(in.size))
    from_shared_memory<T, true><<<grid, T::kThreads>>>(in, c);
  else
    from_shared_memory<T, false><<<grid, T::kThreads>>>(in, c);
  // END SOLUTION
}

}  // namespace

result multiply(step version, std::span<const float> a, std::span<const float> b, shape size) {
  return multiply_by(a, b, size, [&](const factors& in, float* c) {
    // When one_tile_a_warp is written, launch it: grid_for(in.size, kTile, kWarpsOfBlock * kTile)
    // blocks of kWarpsOfBlock * kWarp threads.
    // BEGIN SOLUTION
    // STUB: if (version == step::one_tile_a_warp) throw not_written("step one_tile_a_warp", 1);
    if (version == step::one_tile_a_warp) {
      const dim3 grid = grid_for(in.size, kTile, kWarpsOfBlock * kTile);
      one_tile_a_warp<<<grid, kWarpsOfBlock * kWarp>>>(in, c);
    }
    // END SOLUTION
    if (version == step::shared_tiles) launch_from_shared_memory<tiling_shared>(in, c);
    if (version == step::register_blocks) launch_from_shared_memory<tiling_registers>(in, c);
  });
}

}  // namespace lab::wmma_product
