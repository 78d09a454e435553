// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Differs from the solution: among threads with the same row, one reads the values of the others,
// one after the other, and the loop over a row is the same for all threads of a tile.

#include <cuda_runtime.h>

#include "given.hpp"

namespace lab::group_reduce {
namespace {

// --- tiles and reduce: a tile has a row ----------------------------------------------------------
// `Tile` is cg::thread_block_tile<1> to <32>: neighbouring threads of a block, all of one warp.

/// The number of the tile in the grid: tile 0 of block 1 follows the last one of block 0.
template <class Tile>
__device__ std::size_t number_of(const Tile& tile) {
  return std::size_t{blockIdx.x} * tile.meta_group_size() + tile.meta_group_rank();
}

/// The sum of the values that the threads of the tile pass, at least in the thread of rank 0.
template <class Tile>
__device__ unsigned sum_by_shuffles(const Tile& tile, unsigned mine) {
  for (unsigned d = tile.num_threads() / 2; d > 0; d /= 2) mine += tile.shfl_down(mine, d);
  return mine;
}

/// The same.
template <class Tile>
__device__ unsigned sum_by_reduce(const Tile& tile, unsigned mine) {
  return cg::reduce(tile, mine, cg::plus<unsigned>());
}

/// m.sums[r] = the sum of the elements of row r that are less than m.limit.
template <step kStep, unsigned kTile>
__global__ void one_sum_a_tile(matrix m) {
  const auto tile = cg::tiled_partition<kTile>(cg::this_thread_block());
  const std::size_t row = number_of(tile);
  if (row >= m.rows) return;
  unsigned mine = 0;
  for (std::size_t i = tile.thread_rank(); i < m.length; i += kTile) {
    const unsigned value = m.values[row * m.length + i];
    if (value < m.limit) mine += value;
  }
  const unsigned sum =
      kStep == step::tiles ? sum_by_shuffles(tile, mine) : sum_by_reduce(tile, mine);
  if (tile.thread_rank() == 0) m.sums[row] = sum;
}

// --- coalesced: whoever is there -----------------------------------------------------------------

/// sums[row] += value. Any threads may call it, at any time, for any rows.
__device__ void add_together(unsigned* sums, std::size_t row, unsigned value) {
  // The leader adds up the values of the others, one after the other.
  const auto here = cg::coalesced_threads();
  const auto same = cg::labeled_partition(here, static_cast<unsigned long long>(row));
  unsigned sum = 0;
  for (unsigned k = 0; k < same.num_threads(); ++k) sum += same.shfl(value, k);
  if (same.thread_rank() == same.num_threads() - 1) atomicAdd(&sums[row], sum);
}

/// Adds each element that is less than m.limit to the sum of its row. The sums begin at 0.
template <unsigned kTile>
__global__ void add_as_they_come(matrix m) {
  const auto tile = cg::tiled_partition<kTile>(cg::this_thread_block());
  const std::size_t row = number_of(tile);
  const std::size_t length = row < m.rows ? m.length : 0;
  for (std::size_t begin = 0; begin < length; begin += kTile) {
    const std::size_t i = begin + tile.thread_rank();
    if (i >= length) continue;
    const unsigned value = m.values[row * length + i];
    if (value >= m.limit) continue;
    add_together(m.sums, row, value);
  }
}

template <unsigned kTile>
void launch(step version, unsigned blocks, const matrix& m) {
  switch (version) {
    case step::tiles:
      one_sum_a_tile<step::tiles, kTile><<<blocks, kThreads>>>(m);
      break;
    case step::reduce:
      one_sum_a_tile<step::reduce, kTile><<<blocks, kThreads>>>(m);
      break;
    case step::coalesced:
      add_as_they_come<kTile><<<blocks, kThreads>>>(m);
      break;
  }
}

}  // namespace

result sum_rows(step version, std::span<const std::uint32_t> values, std::size_t length,
                std::uint32_t limit, unsigned tile) {
  const auto kernel = [=](auto size, unsigned blocks, const matrix& m) {
    launch<size.value>(version, blocks, m);
  };
  return host_part(version, kernel, values, length, limit, tile);
}

}  // namespace lab::group_reduce
