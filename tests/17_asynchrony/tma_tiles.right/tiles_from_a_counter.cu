// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// two_stages: a block draws the number of its next tile from a counter that all blocks share.
// row_copies: one warp starts the copies, after the zeros have been stored.

#include <cuda_runtime.h>

#include "given.hpp"

namespace lab::tma_tiles {
namespace {

constexpr unsigned kWarp = 32;

/// A warp loads its rows of the box, 32 elements at a time.
__global__ void __launch_bounds__(kThreads) loads(job j) {
  __shared__ tile box;
  const coordinates p = box_of(j, blockIdx.x);
  for (unsigned row = threadIdx.y; row < kBox; row += blockDim.y)
    for (unsigned column = threadIdx.x; column < kBox; column += kWarp) {
      const int x = p.x + static_cast<int>(column), y = p.y + static_cast<int>(row);
      std::uint32_t value = 0;
      if (is_inside(j, x, y)) value = __ldg(address(j, x, y));
      box.at[row][column] = value;
    }
  __syncthreads();
  store_tile(box, j, p);
}

__global__ void __launch_bounds__(kThreads) row_copies(job j) {
  __shared__ tile box;
  __shared__ block_barrier full;
  const coordinates p = box_of(j, blockIdx.x);
  const int begin = max(p.x, 0), end = min(p.x + kBox, static_cast<int>(j.pitch));
  for (unsigned i = thread_number(); i < kBox * kBox; i += kThreads) {
    const int row = static_cast<int>(i / kBox), column = static_cast<int>(i % kBox);
    const int x = p.x + column, y = p.y + row;
    if (y < 0 || y >= j.height || x < begin || x >= end) box.at[row][column] = 0;
  }
  make_barriers(&full, 1, kWarp);
  if (threadIdx.y == 0) {
    const unsigned bytes = (end - begin) * sizeof(std::uint32_t);
    unsigned all = 0;
    for (unsigned row = threadIdx.x; row < kBox; row += kWarp) {
      const int y = p.y + static_cast<int>(row);
      if (y < 0 || y >= j.height) continue;
      cde::cp_async_bulk_global_to_shared(&box.at[row][begin - p.x], address(j, begin, y), bytes,
                                          full);
      all += bytes;
    }
    static_cast<void>(cuda::device::barrier_arrive_tx(full, 1, all));
  }
  full.wait_parity(false);
  // Clears what was copied from the padding.
  for (int x = j.width + static_cast<int>(threadIdx.x); x < end; x += kWarp)
    for (unsigned row = threadIdx.y; row < kBox; row += blockDim.y) box.at[row][x - p.x] = 0;
  __syncthreads();
  store_tile(box, j, p);
}

CUtensorMap map_of(const job& j) {
  CUtensorMap map = {};
  const cuuint64_t lengths[] = {static_cast<cuuint64_t>(j.width),
                                static_cast<cuuint64_t>(j.height)};
  const cuuint64_t bytes_of_a_row = j.pitch * sizeof(std::uint32_t);
  const cuuint32_t box[] = {kBox, kBox}, steps[] = {1, 1};
  check(encode_tiled()(&map, CU_TENSOR_MAP_DATA_TYPE_INT32, 2, const_cast<std::uint32_t*>(j.from),
                       lengths, &bytes_of_a_row, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
                       CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_L2_PROMOTION_L2_128B,
                       CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE));
  return map;
}

/// One thread calls this, to copy the box of a tile to a stage.
__device__ void start(const CUtensorMap& map, coordinates p, tile& stage, block_barrier& full) {
  cde::cp_async_bulk_tensor_2d_global_to_shared(&stage, &map, p.x, p.y, full);
  static_cast<void>(cuda::device::barrier_arrive_tx(full, 1, sizeof(tile)));
}

__global__ void __launch_bounds__(kThreads)
    tensor_copy(const __grid_constant__ CUtensorMap map, job j) {
  __shared__ tile box;
  __shared__ block_barrier full;
  make_barriers(&full, 1, 1);
  const coordinates p = box_of(j, blockIdx.x);
  if (thread_number() == 0) start(map, p, box, full);
  full.wait_parity(false);
  store_tile(box, j, p);
}

/// A launch draws as many numbers as there are tiles: one for each tile but the blocks' first ones,
/// and, by each block, one that is too large. So atomicInc() ends at 0, where the next launch
/// begins.
__device__ unsigned drawn;

__global__ void __launch_bounds__(kThreads)
    two_stages(const __grid_constant__ CUtensorMap map, job j) {
  __shared__ tile stages[2];
  __shared__ block_barrier full[2];
  __shared__ unsigned numbers[2];  // of the tiles in the stages
  make_barriers(full, 2, 1);
  if (thread_number() == 0) {
    numbers[0] = blockIdx.x;
    start(map, box_of(j, blockIdx.x), stages[0], full[0]);
  }
  __syncthreads();
  for (unsigned turn = 0, now = 0; numbers[now] < j.tiles; ++turn, now = 1 - now) {
    if (thread_number() == 0) {
      const unsigned next = numbers[1 - now] = gridDim.x + atomicInc(&drawn, j.tiles - 1);
      if (next < j.tiles) start(map, box_of(j, next), stages[1 - now], full[1 - now]);
    }
    full[now].wait_parity(turn / 2 % 2 != 0);
    store_tile(stages[now], j, box_of(j, numbers[now]));
    __syncthreads();
  }
}

}  // namespace

result apply(step version, std::span<const std::uint32_t> values, std::size_t width,
             std::size_t height, unsigned blocks) {
  return host_part_of_apply(values, width, height, blocks, [&](const job& j) {
    if (version == step::loads) loads<<<j.tiles, kBlock>>>(j);
    if (version == step::row_copies) row_copies<<<j.tiles, kBlock>>>(j);
    if (version == step::tensor_copy) tensor_copy<<<j.tiles, kBlock>>>(map_of(j), j);
    if (version == step::two_stages)
      two_stages<<<blocks_for(two_stages, j, blocks), kBlock>>>(map_of(j), j);
    CUDA_CHECK(cudaGetLastError());
  });
}

}  // namespace lab::tma_tiles
