// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 17.3 tma_tiles: a stencil whose tiles the TMA loads into shared memory.
// Edit:  this file, from TODO(1) to TODO(5). Contract: tma_tiles.hpp
// Run:   scripts/lab run 17.3 -- --step loads     (then row_copies, tensor_copy and two_stages)
// Test:  scripts/lab test 17.3
// Hints: scripts/lab hint 17.3                 Chapter: docs/17_asynchrony.md

#include <cuda_runtime.h>

#include "given.hpp"

namespace lab::tma_tiles {
namespace {

__global__ void __launch_bounds__(kThreads) loads(job j) {
  __shared__ tile box;
  const coordinates p = box_of(j, blockIdx.x);
  // TODO(1): the threads of the block fill the box: 0 where it is outside the matrix. Then
  //          store_tile(). Invariant: no thread reads the box before it is complete.
}

__global__ void __launch_bounds__(kThreads) row_copies(job j) {
  __shared__ tile box;
  __shared__ block_barrier full;
  make_barriers(&full, 1, kThreads);
  const coordinates p = box_of(j, blockIdx.x);
  // TODO(2): thread i < kBox starts a bulk copy of row i of the box, if the matrix has such a row
  //          (cde::cp_async_bulk_global_to_shared), and arrives with its bytes
  //          (cuda::device::barrier_arrive_tx); all others just arrive. All wait. Then set
  //          everything outside the matrix to 0. Invariants: addresses and bytes are multiples of
  //          16; no copy leaves its row, which has j.pitch values.
}

/// Describes the layout of the matrix in memory, and the box that a copy transfers.
CUtensorMap map_of(const job& j) {
  CUtensorMap map = {};
  // TODO(3): encode_tiled() returns cuTensorMapEncodeTiled; check() the result of that. The matrix
  //          has two dimensions of 32-bit unsigned numbers; all lists begin with x. No swizzle, no
  //          interleave, nothing special for the cache or for values outside.
  throw not_written("step tensor_copy", 3);  // 3 and 4
  return map;
}

__global__ void __launch_bounds__(kThreads)
    tensor_copy(const __grid_constant__ CUtensorMap map, job j) {
  // TODO(4): a box and its barrier as in row_copies. One thread starts the copy of the box
  //          (cde::cp_async_bulk_tensor_2d_global_to_shared) and arrives with its bytes: those
  //          outside the matrix count, too. The others just arrive. All wait, and store_tile().
}

__global__ void __launch_bounds__(kThreads)
    two_stages(const __grid_constant__ CUtensorMap map, job j) {
  __shared__ tile stages[2];
  __shared__ block_barrier full[2];  // of each stage
  make_barriers(full, 2, 1);         // only the thread that starts a copy arrives
  // TODO(5): this block's tiles are blockIdx.x, blockIdx.x + gridDim.x, and so on. Their boxes use
  //          the two stages in turn, and the copy of the next one starts before the wait for this
  //          one. full[s].wait_parity(p) waits for the end of a phase: p is false for the
  //          first phase of that barrier, true for the second, and so on.
  //          Invariant: no thread still reads a stage when a copy into it is started.
}

}  // namespace

result apply(step version, std::span<const std::uint32_t> values, std::size_t width,
             std::size_t height, unsigned blocks) {
  return host_part_of_apply(values, width, height, blocks, [&](const job& j) {
    // When a step is written, launch it instead of the throw, as tensor_copy is launched here.
    // loads and row_copies have no map, two_stages has blocks_for(two_stages, j, blocks) blocks.
    if (version == step::loads) throw not_written("step loads", 1);
    if (version == step::row_copies) throw not_written("step row_copies", 2);
    if (version == step::tensor_copy) tensor_copy<<<j.tiles, kBlock>>>(map_of(j), j);
    if (version == step::two_stages) throw not_written("step two_stages", 5);
  });
}

}  // namespace lab::tma_tiles
