// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Differs from the solution: no more blocks than the device runs at once, whose tiles take one row
// after the other; a scan, after which the last thread has the sum; and a tile divides itself into
// the threads that have an element to add and those that have none.

#include <cuda_runtime.h>

#include <algorithm>

#include "given.hpp"

namespace lab::group_reduce {
namespace {

/// Calls work(tile, row) for each row that this thread's tile has.
template <unsigned kTile, class Work>
__device__ void for_rows(std::size_t rows, const Work& work) {
  const auto tile = cg::tiled_partition<kTile>(cg::this_thread_block());
  const std::size_t of_block = tile.meta_group_size();
  std::size_t row = blockIdx.x * of_block + tile.meta_group_rank();
  for (; row < rows; row += gridDim.x * of_block) work(tile, row);
}

template <step kStep, unsigned kTile>
__global__ void one_sum_a_row(matrix m) {
  for_rows<kTile>(m.rows, [&](const auto& tile, std::size_t row) {
    unsigned sum = 0;
    for (std::size_t i = tile.thread_rank(); i < m.length; i += kTile) {
      const unsigned value = m.values[row * m.length + i];
      sum += value < m.limit ? value : 0;
    }
    if constexpr (kStep == step::reduce) {
      sum = cg::reduce(tile, sum, [](unsigned a, unsigned b) { return a + b; });
    } else {
      for (unsigned d = 1; d < kTile; d *= 2) {
        const unsigned before = tile.shfl_up(sum, d);
        if (tile.thread_rank() >= d) sum += before;
      }
    }
    if (tile.thread_rank() == kTile - 1) m.sums[row] = sum;
  });
}

template <unsigned kTile>
__global__ void those_that_count(matrix m) {
  for_rows<kTile>(m.rows, [&](const auto& tile, std::size_t row) {
    const unsigned* const values = m.values + row * m.length;
    for (std::size_t begin = 0; begin < m.length; begin += kTile) {
      const std::size_t i = begin + tile.thread_rank();
      const unsigned value = i < m.length ? values[i] : m.limit;
      const bool counts = value < m.limit;
      const auto alike = cg::binary_partition(tile, counts);
      if (!counts) continue;
      const unsigned sum = cg::reduce(alike, value, cg::plus<unsigned>());
      if (alike.thread_rank() == 0) atomicAdd(m.sums + row, sum);
    }
  });
}

/// How many blocks of this kernel the device runs at once, but not more than `blocks`.
unsigned at_once(void (*kernel)(matrix), unsigned blocks) {
  int each = 0;
  CUDA_CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, kernel, kThreads, 0));
  const unsigned all = device_limit(cudaDevAttrMultiProcessorCount) * static_cast<unsigned>(each);
  return std::min(blocks, std::max(all, 1U));
}

}  // namespace

result sum_rows(step version, std::span<const std::uint32_t> values, std::size_t length,
                std::uint32_t limit, unsigned tile) {
  const auto launch = [=](auto size, unsigned blocks, const matrix& m) {
    void (*kernel)(matrix) = those_that_count<size.value>;
    if (version == step::tiles) kernel = one_sum_a_row<step::tiles, size.value>;
    if (version == step::reduce) kernel = one_sum_a_row<step::reduce, size.value>;
    kernel<<<at_once(kernel, blocks), kThreads>>>(m);
  };
  return host_part(version, launch, values, length, limit, tile);
}

}  // namespace lab::group_reduce
