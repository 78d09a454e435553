// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// two_stages: a block has neighbouring tiles; all threads arrive, and wait with tokens.

#include <cuda_runtime.h>

#include "given.hpp"

namespace lab::tma_tiles {
namespace {

__global__ void __launch_bounds__(kThreads) loads(job j) {
  __shared__ tile box;
  const coordinates p = box_of(j, blockIdx.x);
  for (unsigned i = thread_number(); i < kBox * kBox; i += kThreads) {
    const int row = static_cast<int>(i / kBox), column = static_cast<int>(i % kBox);
    const int x = p.x + column, y = p.y + row;
    box.at[row][column] = is_inside(j, x, y) ? *address(j, x, y) : 0;
  }
  __syncthreads();
  store_tile(box, j, p);
}

__global__ void __launch_bounds__(kThreads) row_copies(job j) {
  __shared__ tile box;
  __shared__ block_barrier full;
  make_barriers(&full, 1, kThreads);
  const coordinates p = box_of(j, blockIdx.x);
  const unsigned row = thread_number();
  const int y = p.y + static_cast<int>(row);
  block_barrier::arrival_token token;
  if (row < kBox && y >= 0 && y < j.height) {
    const int begin = max(p.x, 0), end = min(p.x + kBox, static_cast<int>(j.pitch));
    const unsigned bytes = (end - begin) * sizeof(std::uint32_t);
    cde::cp_async_bulk_global_to_shared(&box.at[row][begin - p.x], address(j, begin, y), bytes,
                                        full);
    token = cuda::device::barrier_arrive_tx(full, 1, bytes);
  } else {
    token = full.arrive();
  }
  full.wait(std::move(token));
  for (unsigned i = thread_number(); i < kBox * kBox; i += kThreads) {
    const int r = static_cast<int>(i / kBox), column = static_cast<int>(i % kBox);
    if (!is_inside(j, p.x + column, p.y + r)) box.at[r][column] = 0;
  }
  __syncthreads();
  store_tile(box, j, p);
}

/// Describes the layout of the matrix in memory, and the box that a copy transfers.
CUtensorMap map_of(const job& j) {
  CUtensorMap map = {};
  const cuuint64_t lengths[] = {static_cast<cuuint64_t>(j.width),
                                static_cast<cuuint64_t>(j.height)};
  const cuuint64_t strides[] = {j.pitch * sizeof(std::uint32_t)};
  const cuuint32_t box[] = {kBox, kBox};
  const cuuint32_t steps[] = {1, 1};
  check(encode_tiled()(&map, CU_TENSOR_MAP_DATA_TYPE_UINT32, 2, const_cast<std::uint32_t*>(j.from),
                       lengths, strides, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
                       CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_L2_PROMOTION_NONE,
                       CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE));
  return map;
}

__global__ void __launch_bounds__(kThreads)
    tensor_copy(const __grid_constant__ CUtensorMap map, job j) {
  __shared__ tile box;
  __shared__ block_barrier full;
  make_barriers(&full, 1, kThreads);
  const coordinates p = box_of(j, blockIdx.x);
  block_barrier::arrival_token token;
  if (thread_number() == 0) {
    cde::cp_async_bulk_tensor_2d_global_to_shared(&box, &map, p.x, p.y, full);
    token = cuda::device::barrier_arrive_tx(full, 1, sizeof(box));
  } else {
    token = full.arrive();
  }
  full.wait(std::move(token));
  store_tile(box, j, p);
}

__global__ void __launch_bounds__(kThreads)
    two_stages(const __grid_constant__ CUtensorMap map, job j) {
  __shared__ tile stages[2];
  __shared__ block_barrier full[2];  // of each stage
  make_barriers(full, 2, kThreads);
  // A block has consecutive tiles; all threads arrive, and wait with tokens.
  const unsigned first = static_cast<unsigned>(std::uint64_t{j.tiles} * blockIdx.x / gridDim.x),
                 end = static_cast<unsigned>(std::uint64_t{j.tiles} * (blockIdx.x + 1) / gridDim.x);
  const auto start = [&](unsigned number) {
    const unsigned s = number % 2;
    if (thread_number() != kThreads - 1) return full[s].arrive();
    const coordinates p = box_of(j, number);
    cde::cp_async_bulk_tensor_2d_global_to_shared(&stages[s], &map, p.x, p.y, full[s]);
    return cuda::device::barrier_arrive_tx(full[s], 1, sizeof(tile));
  };
  auto token = start(first);
  for (unsigned number = first; number < end; ++number) {
    block_barrier::arrival_token next;
    if (number + 1 < end) next = start(number + 1);
    full[number % 2].wait(std::move(token));
    store_tile(stages[number % 2], j, box_of(j, number));
    __syncthreads();
    token = std::move(next);
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
