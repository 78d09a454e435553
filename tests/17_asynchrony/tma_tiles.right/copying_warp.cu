// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// two_stages: a ninth warp only copies; the other eight only compute, and release each stage
// through a second barrier. No thread waits for the whole block. row_copies: the first thread of
// each warp copies its rows.

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
  make_barriers(&full, 1, kThreads / kTile);
  const coordinates p = box_of(j, blockIdx.x);
  const int begin = max(p.x, 0), end = min(p.x + kBox, static_cast<int>(j.pitch));
  if (threadIdx.x == 0) {
    const unsigned bytes = (end - begin) * sizeof(std::uint32_t);
    unsigned all = 0;
    for (int row = threadIdx.y; row < kBox; row += blockDim.y)
      if (const int y = p.y + row; y >= 0 && y < j.height) {
        cde::cp_async_bulk_global_to_shared(&box.at[row][begin - p.x], address(j, begin, y), bytes,
                                            full);
        all += bytes;
      }
    static_cast<void>(cuda::device::barrier_arrive_tx(full, 1, all));
  }
  full.wait_parity(false);
  for (unsigned i = thread_number(); i < kBox * kBox; i += kThreads) {
    const int row = static_cast<int>(i / kBox), column = static_cast<int>(i % kBox);
    if (!is_inside(j, p.x + column, p.y + row)) box.at[row][column] = 0;
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

constexpr unsigned kWarp = 32;

__global__ void __launch_bounds__(kThreads + kWarp)
    two_stages(const __grid_constant__ CUtensorMap map, job j) {
  __shared__ tile stages[2];
  __shared__ block_barrier full[2], empty[2];
  if (threadIdx.x == 0 && threadIdx.y == 0) {
    for (int s = 0; s < 2; ++s) {
      init(&full[s], 1);
      init(&empty[s], kThreads);
    }
    cde::fence_proxy_async_shared_cta();
  }
  __syncthreads();
  const bool copies = threadIdx.y == kThreads / kWarp;
  if (copies && threadIdx.x != 0) return;
  unsigned turn = 0;
  for (unsigned now = blockIdx.x; now < j.tiles; now += gridDim.x, ++turn) {
    const unsigned s = turn % 2;
    const bool odd = turn / 2 % 2 != 0;
    const coordinates p = box_of(j, now);
    if (copies) {
      if (turn >= 2) empty[s].wait_parity(!odd);
      cde::cp_async_bulk_tensor_2d_global_to_shared(&stages[s], &map, p.x, p.y, full[s]);
      static_cast<void>(cuda::device::barrier_arrive_tx(full[s], 1, sizeof(tile)));
    } else {
      full[s].wait_parity(odd);
      store_tile(stages[s], j, p);
      static_cast<void>(empty[s].arrive());
    }
  }
}

}  // namespace

result apply(step version, std::span<const std::uint32_t> values, std::size_t width,
             std::size_t height, unsigned blocks) {
  return host_part_of_apply(values, width, height, blocks, [&](const job& j) {
    if (version == step::loads) loads<<<j.tiles, kBlock>>>(j);
    if (version == step::row_copies) row_copies<<<j.tiles, kBlock>>>(j);
    if (version == step::tensor_copy) tensor_copy<<<j.tiles, kBlock>>>(map_of(j), j);
    if (version == step::two_stages) {
      if (blocks == 0) {
        int of_one = 0;
        CUDA_CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&of_one, two_stages,
                                                                 kThreads + kWarp, 0));
        blocks = of_one * device_limit(cudaDevAttrMultiProcessorCount);
      }
      two_stages<<<std::min(blocks, j.tiles), dim3(kWarp, kThreads / kWarp + 1)>>>(map_of(j), j);
    }
    CUDA_CHECK(cudaGetLastError());
  });
}

}  // namespace lab::tma_tiles
