// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Blocks of two dimensions, whose tiles go along a row from its end. The threads of a tile wait for
// each other before they add up. coalesced adds the values of the lanes of a row one by one.

#include <cuda_runtime.h>

#include "given.hpp"

namespace lab::group_reduce {
namespace {

template <unsigned kTile>
__device__ std::size_t row_of_thread() {
  return std::size_t{blockIdx.x} * (kThreads / kTile) + threadIdx.y;
}

/// Calls visit(value) for each element of this thread, from the last one on.
template <unsigned kTile, class Visit>
__device__ void backwards(const matrix& m, std::size_t row, const Visit& visit) {
  const unsigned* const begin = m.values + row * m.length;
  if (threadIdx.x >= m.length) return;
  std::size_t i = threadIdx.x + (m.length - 1 - threadIdx.x) / kTile * kTile;
  for (;; i -= kTile) {
    visit(begin[i]);
    if (i < kTile) return;
  }
}

template <unsigned kTile, bool kLibrary>
__global__ void rows_by_tiles(matrix m) {
  const std::size_t row = row_of_thread<kTile>();
  const auto tile = cg::tiled_partition<kTile>(cg::this_thread_block());
  if (row < m.rows) {
    unsigned mine = 0;
    backwards<kTile>(m, row, [&](unsigned value) { mine += value < m.limit ? value : 0U; });
    tile.sync();
    if constexpr (kLibrary) {
      mine = cg::reduce(tile, mine, cg::plus<unsigned>{});
    } else {
      for (unsigned bit = 1; bit < kTile; bit <<= 1) mine += tile.shfl_xor(mine, bit);
    }
    if (threadIdx.x == kTile - 1) m.sums[row] = mine;
  }
}

__device__ void add_for_all(unsigned* sums, std::size_t row, unsigned value) {
  const unsigned here = __activemask();
  const unsigned peers = __match_any_sync(here, static_cast<unsigned long long>(row));
  const unsigned leader = static_cast<unsigned>(__ffs(static_cast<int>(peers))) - 1;
  unsigned sum = 0;
  for (unsigned left = peers; left != 0; left &= left - 1)
    sum += __shfl_sync(peers, value, __ffs(static_cast<int>(left)) - 1);
  if ((threadIdx.y * blockDim.x + threadIdx.x) % 32 == leader) atomicAdd(&sums[row], sum);
}

template <unsigned kTile>
__global__ void rows_at_once(matrix m) {
  const std::size_t row = row_of_thread<kTile>();
  if (row < m.rows)
    backwards<kTile>(m, row, [&](unsigned value) {
      if (value < m.limit) add_for_all(m.sums, row, value);
    });
}

}  // namespace

result sum_rows(step version, std::span<const std::uint32_t> values, std::size_t length,
                std::uint32_t limit, unsigned tile) {
  return host_part(
      version,
      [version](auto size, unsigned blocks, const matrix& m) {
        constexpr unsigned kTile = decltype(size)::value;
        const dim3 shape(kTile, kThreads / kTile);
        if (version == step::tiles)
          rows_by_tiles<kTile, false><<<blocks, shape>>>(m);
        else if (version == step::reduce)
          rows_by_tiles<kTile, true><<<blocks, shape>>>(m);
        else
          rows_at_once<kTile><<<blocks, shape>>>(m);
      },
      values, length, limit, tile);
}

}  // namespace lab::group_reduce
