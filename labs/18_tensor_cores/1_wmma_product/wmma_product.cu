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
}

__global__ void __launch_bounds__(kWarpsOfBlock* kWarp) one_tile_a_warp(factors in, float* c) {
  __shared__ alignas(32) __half copy[kWarpsOfBlock][kTile][kTile];
  __shared__ alignas(32) float patch[kWarpsOfBlock][kTile][kTile];
  const unsigned warp = threadIdx.x / kWarp;
  const std::size_t row = std::size_t{blockIdx.y} * kTile;
  const std::size_t column = (std::size_t{blockIdx.x} * kWarpsOfBlock + warp) * kTile;
  // TODO(2): this warp computes the tile of C at `row` and `column`. Start with sums of 0. For each
  //          tile along k load a fragment of A and one of B, and add their product. store_sums().
}

/// For shared_tiles and register_blocks: adds the products of a slice to this warp's sums, WM x WN
/// tiles of them. `row` and `column` give the warp's first tile within the block's.
template <class T>
__device__ void multiply_slice(const block_tiles<T>& from, unsigned row, unsigned column,
                               fragment_c (&sums)[T::WM][T::WN]) {
  // TODO(3): a slice is BK elements of k, so BK / kTile fragments. For each of them load WM
  //          fragments of A and WN of B, each once, and multiply all pairs of them.
  //          The rows of from.a and from.b are not BK or BN apart: given.hpp pads them.
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

  // TODO(5): store_sums() for each of the warp's tiles, at its position in C.
}

template <class T>
void launch_from_shared_memory(const factors& in, float* c) {
  // TODO(6): launch from_shared_memory<T, true>, or <T, false> if rows are not aligned.
  throw not_written("step shared_tiles (or register_blocks)", 3);  // 3 to 6 are these
}

}  // namespace

result multiply(step version, std::span<const float> a, std::span<const float> b, shape size) {
  return multiply_by(a, b, size, [&](const factors& in, float* c) {
    // When one_tile_a_warp is written, launch it: grid_for(in.size, kTile, kWarpsOfBlock * kTile)
    // blocks of kWarpsOfBlock * kWarp threads.
    if (version == step::one_tile_a_warp) throw not_written("step one_tile_a_warp", 1);
    if (version == step::shared_tiles) launch_from_shared_memory<tiling_shared>(in, c);
    if (version == step::register_blocks) launch_from_shared_memory<tiling_registers>(in, c);
  });
}

}  // namespace lab::wmma_product
