// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 16.2 group_reduce: groups of threads add up rows: tiles, and the currently active threads.
// Edit:  this nearly empty file: TODO(1) to TODO(4). group_reduce.hpp has the steps.
// Run:   scripts/lab run 16.2 -- --step tiles     (then reduce, coalesced)
// Test:  scripts/lab test 16.2
// Hints: scripts/lab hint 16.2                  Chapter: docs/16_warps_and_groups.md

#include <cuda_runtime.h>

#include "given.hpp"

namespace lab::group_reduce {
namespace {

// TODO(1): for tiles of 1 to 32 threads: the number of a tile in the grid, where tile 0 of block 1
//          follows the last one of block 0; and the sum of its threads' values, at least in the
//          thread of rank 0. For step tiles that is the tree of 16.1, with the tile's own shuffles:
//          from which distance on? Step reduce is one library call.
// BEGIN SOLUTION
// --- tiles and reduce: a tile has a row ----------------------------------------------------------
// `Tile` is cg::thread_block_tile<1> to <32>: neighbouring threads of a block, all of one warp.

/// The number of the tile in the grid: tile 0 of block 1 follows the last one of block 0.
template <class Tile>
__device__ std::size_t number_of(const Tile& tile) {
  return std::size_t{blockIdx.x} * tile.meta_group_size() + tile.meta_group_rank();
}

/// The sum of the values that the threads of the tile pass, at least in the thread of rank 0.
template <step kStep, class Tile>
__device__ unsigned sum_of(const Tile& tile, unsigned mine) {
  if constexpr (kStep == step::tiles) {
    for (unsigned d = tile.num_threads() / 2; d > 0; d /= 2) mine += tile.shfl_down(mine, d);
    return mine;
  }
  return cg::reduce(tile, mine, cg::plus<unsigned>());
}
// END SOLUTION

// TODO(2): a kernel template, whose tile r adds up row r (matrix of given.hpp); may a tile without
//          a row return? Its threads go along the row side by side, and each adds up the elements
//          below m.limit. Then the sum of the tile, which one thread stores. Invariant: all threads
//          of a tile reach its sum together. Other tiles of the warp need not.
// BEGIN SOLUTION
/// m.sums[r] = the sum of the elements of row r that are less than m.limit.
template <step kStep, unsigned kTile>
__global__ void one_sum_a_tile(matrix m) {
  const auto tile = cg::tiled_partition<kTile>(cg::this_thread_block());
  const std::size_t row = number_of(tile);
  if (row >= m.rows) return;  // the same for all threads of the tile
  unsigned mine = 0;
  for (std::size_t i = tile.thread_rank(); i < m.length; i += kTile) {
    const unsigned value = m.values[row * m.length + i];
    if (value < m.limit) mine += value;
  }
  const unsigned sum = sum_of<kStep>(tile, mine);
  if (tile.thread_rank() == 0) m.sums[row] = sum;
}
// END SOLUTION

// TODO(3): step coalesced: a function that any threads may call at any time, and that adds a value
//          to sums[row]. The threads of the warp that call it together and have the same row add
//          up their values, and one of them adds the sum, for all of them, atomically. Then a
//          kernel that calls it for each element below the limit. The sums begin at 0.
// BEGIN SOLUTION
// --- coalesced: the currently active threads -----------------------------------------------------

/// sums[row] += value. Any threads may call it, at any time, for any rows.
__device__ void add_together(unsigned* sums, std::size_t row, unsigned value) {
  const auto group = cg::labeled_partition(cg::coalesced_threads(), row);
  const unsigned sum = cg::reduce(group, value, cg::plus<unsigned>());
  if (group.thread_rank() == 0) atomicAdd(sums + row, sum);
}

/// Adds each element that is less than m.limit to the sum of its row. The sums begin at 0.
template <unsigned kTile>
__global__ void add_as_they_come(matrix m) {
  const auto tile = cg::tiled_partition<kTile>(cg::this_thread_block());
  const std::size_t row = number_of(tile);
  if (row >= m.rows) return;
  for (std::size_t i = tile.thread_rank(); i < m.length; i += kTile) {
    const unsigned value = m.values[row * m.length + i];
    if (value < m.limit) add_together(m.sums, row, value);
  }
}
// END SOLUTION

// BEGIN SOLUTION
template <unsigned kTile>
void launch(step version, unsigned blocks, const matrix& m) {
  if (version == step::tiles) one_sum_a_tile<step::tiles, kTile><<<blocks, kThreads>>>(m);
  if (version == step::reduce) one_sum_a_tile<step::reduce, kTile><<<blocks, kThreads>>>(m);
  if (version == step::coalesced) add_as_they_come<kTile><<<blocks, kThreads>>>(m);
}
// END SOLUTION

}  // namespace

result sum_rows(step version, std::span<const std::uint32_t> values, std::size_t length,
                std::uint32_t limit, unsigned tile) {
  // TODO(4): host_part() of given.hpp checks, allocates and copies. It calls your lambda (auto
  //          size, unsigned blocks, const matrix& m) for the launch: blocks of kThreads threads,
  //          in tiles of size.value, a constant that may be a template argument.
  // BEGIN SOLUTION
  // STUB: if (version == step::tiles) throw not_written("step tiles", 1);  // 1, 2 and 4
  // STUB: if (version == step::reduce) throw not_written("step reduce", 1);
  // STUB: throw not_written("step coalesced", 3);
  const auto kernel = [=](auto size, unsigned blocks, const matrix& m) {
    launch<size.value>(version, blocks, m);
  };
  return host_part(version, kernel, values, length, limit, tile);
  // END SOLUTION
}

}  // namespace lab::group_reduce
