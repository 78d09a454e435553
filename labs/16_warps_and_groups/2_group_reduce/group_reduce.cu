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

// TODO(2): a kernel template, whose tile r adds up row r (matrix of given.hpp); may a tile without
//          a row return? Its threads go along the row side by side, and each adds up the elements
//          below m.limit. Then the sum of the tile, which one thread stores. Invariant: all threads
//          of a tile reach its sum together. Other tiles of the warp need not.

// TODO(3): step coalesced: a function that any threads may call at any time, and that adds a value
//          to sums[row]. The threads of the warp that call it together and have the same row add
//          up their values, and one of them adds the sum, for all of them, atomically. Then a
//          kernel that calls it for each element below the limit. The sums begin at 0.

}  // namespace

result sum_rows(step version, std::span<const std::uint32_t> values, std::size_t length,
                std::uint32_t limit, unsigned tile) {
  // TODO(4): host_part() of given.hpp checks, allocates and copies. It calls your lambda (auto
  //          size, unsigned blocks, const matrix& m) for the launch: blocks of kThreads threads,
  //          in tiles of size.value, a constant that may be a template argument.
  if (version == step::tiles) throw not_written("step tiles", 1);  // 1, 2 and 4
  if (version == step::reduce) throw not_written("step reduce", 1);
  throw not_written("step coalesced", 3);
}

}  // namespace lab::group_reduce
