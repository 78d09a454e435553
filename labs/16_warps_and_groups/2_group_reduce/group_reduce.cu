// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 16.2 group_reduce: groups of threads add up rows: tiles, and whoever happens to be there.
// Edit:  this file, from TODO(1) to TODO(5). group_reduce.hpp says what is asked for.
// Run:   scripts/lab run 16.2 -- --step tiles     (then reduce, coalesced)
// Test:  scripts/lab test 16.2
// Hints: scripts/lab hint 16.2                  Chapter: docs/16_warps_and_groups.md

#include <cuda_runtime.h>

#include "given.hpp"

namespace lab::group_reduce {
namespace {

// --- tiles and reduce: a tile has a row ----------------------------------------------------------
// `Tile` is cg::thread_block_tile<1> to <32>: neighbouring threads of a block, all of one warp.

/// The number of the tile in the grid: tile 0 of block 1 follows the last one of block 0.
template <class Tile>
__device__ std::size_t number_of(const Tile& tile) {
  // TODO(1): a tile knows its number in the block, and how many the block has (meta_group_…).
  return tile.thread_rank();
}

/// The sum of what the threads of the tile call it with, at least in the thread of rank 0.
template <step kStep, class Tile>
__device__ unsigned sum_of(const Tile& tile, unsigned mine) {
  // TODO(2): for step tiles the tree of 16.1, by the tile's own shuffles: from which distance on?
  //          Invariant: before distance d, the threads 0 to 2 d - 1 have the sum of all.
  // TODO(4): for step reduce one call of cg::reduce.
  return tile.num_threads() + mine;
}

/// m.sums[r] = the sum of the elements of row r that are less than m.limit.
template <step kStep, unsigned kTile>
__global__ void one_sum_a_tile(matrix m) {
  // TODO(3): this block in tiles of kTile threads (cg::tiled_partition). Tile r has row r; may one
  //          without a row return? Its threads walk along the row in steps of kTile, and each adds
  //          up what counts. Then the sum of the tile (sum_of<kStep>), and one thread stores it.
  //          All threads of a tile reach its sum together. Other tiles of the warp need not.
}

// --- coalesced: whoever is there -----------------------------------------------------------------

/// sums[row] += value. Any threads may call it, at any time, for any rows.
__device__ void add_together(unsigned* sums, std::size_t row, unsigned value) {
  // TODO(5): the threads of the warp that are here with this one (cg::coalesced_threads), and of
  //          these the ones that have the same row (cg::labeled_partition). They add up their
  //          values (cg::reduce takes such groups, too), and one of them adds the sum, for all of
  //          them, atomically.
}

/// Adds each element that is less than m.limit to the sum of its row. The sums begin at 0.
template <unsigned kTile>
__global__ void add_as_they_come(matrix m) {
  // TODO(5): the loop of one_sum_a_tile, but each element that counts goes to add_together().
}

template <unsigned kTile>
void launch(step which, unsigned blocks, const matrix& m) {
  // When a step is written, launch it with <<<blocks, kThreads>>>. The kernels are
  // one_sum_a_tile<step::tiles, kTile>, the same for step::reduce, and add_as_they_come<kTile>.
  if (which == step::tiles) throw not_written("step tiles", 1);  // 1 to 3
  if (which == step::reduce) throw not_written("step reduce", 4);
  if (which == step::coalesced) throw not_written("step coalesced", 5);
}

}  // namespace

result sum_rows(step which, std::span<const std::uint32_t> values, std::size_t length,
                std::uint32_t limit, unsigned tile) {
  const auto kernel = [=](auto size, unsigned blocks, const matrix& m) {
    launch<size.value>(which, blocks, m);
  };
  return host_part(which, kernel, values, length, limit, tile);
}

}  // namespace lab::group_reduce
