// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// The matrix has a margin of zeros in global memory, so no copy leaves it. The barriers of PTX, and
// blocks of 128 threads in a row.

#include <cuda_runtime.h>

#include <cuda/ptx>

#include "given.hpp"

namespace lab::tma_tiles {
namespace {

namespace ptx = cuda::ptx;

constexpr unsigned kBlockThreads = 128, kEdge = kTile, kSide = kBox;
constexpr unsigned kBoxBytes = kSide * kSide * sizeof(std::uint32_t);

struct with_margin {
  const std::uint32_t* from;  // kReach rows and columns before the first value
  std::size_t pitch;
  std::uint32_t* to;
  unsigned width, height, across, tiles;

  __device__ uint2 corner(unsigned number) const {
    return make_uint2(number % across * kEdge, number / across * kEdge);
  }
};

__device__ void make_values(const tile& box, const with_margin& m, unsigned number) {
  const uint2 p = m.corner(number);
  for (unsigned i = threadIdx.x; i < kEdge * kEdge; i += kBlockThreads) {
    const unsigned column = i % kEdge, row = i / kEdge;
    if (p.x + column >= m.width || p.y + row >= m.height) continue;
    std::uint32_t sum = 0;
    for (unsigned d = 0; d <= 2 * kReach; ++d)
      sum += (d + 1) * box.at[row + kReach][column + d] +
             (2 * d + 3) * box.at[row + d][column + kReach];
    m.to[std::size_t{p.y + row} * m.width + p.x + column] = sum;
  }
}

__device__ void start_barriers(std::uint64_t* barriers, unsigned count) {
  if (threadIdx.x == 0) {
    for (unsigned i = 0; i < count; ++i) ptx::mbarrier_init(&barriers[i], 1);
    ptx::fence_proxy_async(ptx::space_shared);
  }
  __syncthreads();
}

__device__ void announce(std::uint64_t* barrier) {
  const std::uint32_t bytes = kBoxBytes;  // taken by reference
  ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, barrier,
                                 bytes);
}

__device__ void wait_for(std::uint64_t* barrier, unsigned parity) {
  while (!ptx::mbarrier_try_wait_parity(barrier, parity)) {
  }
}

__device__ void start_box(tile& box, const CUtensorMap& map, const with_margin& m, unsigned number,
                          std::uint64_t* barrier) {
  const uint2 p = m.corner(number);
  const std::int32_t at[2] = {static_cast<std::int32_t>(p.x), static_cast<std::int32_t>(p.y)};
  announce(barrier);
  ptx::cp_async_bulk_tensor(ptx::space_cluster, ptx::space_global, &box, &map, at, barrier);
}

__global__ void __launch_bounds__(kBlockThreads) by_loads(with_margin m) {
  __shared__ tile box;
  const uint2 p = m.corner(blockIdx.x);
  for (unsigned i = threadIdx.x; i < kSide * kSide; i += kBlockThreads)
    box.at[i / kSide][i % kSide] = m.from[(p.y + i / kSide) * m.pitch + p.x + i % kSide];
  __syncthreads();
  make_values(box, m, blockIdx.x);
}

__global__ void __launch_bounds__(kBlockThreads) by_rows(with_margin m) {
  __shared__ tile box;
  __shared__ std::uint64_t full;
  start_barriers(&full, 1);
  const uint2 p = m.corner(blockIdx.x);
  if (threadIdx.x == 0) {
    announce(&full);
    for (unsigned row = 0; row < kSide; ++row)
      ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, &box.at[row][0],
                         m.from + (p.y + row) * m.pitch + p.x,
                         static_cast<std::uint32_t>(kSide * sizeof(std::uint32_t)), &full);
  }
  wait_for(&full, 0);
  make_values(box, m, blockIdx.x);
}

__global__ void __launch_bounds__(kBlockThreads)
    by_map(const __grid_constant__ CUtensorMap map, with_margin m) {
  __shared__ tile box;
  __shared__ std::uint64_t full;
  start_barriers(&full, 1);
  if (threadIdx.x == 0) start_box(box, map, m, blockIdx.x, &full);
  wait_for(&full, 0);
  make_values(box, m, blockIdx.x);
}

__global__ void __launch_bounds__(kBlockThreads)
    in_turn(const __grid_constant__ CUtensorMap map, with_margin m) {
  __shared__ tile stage[2];
  __shared__ std::uint64_t full[2];
  start_barriers(full, 2);
  if (threadIdx.x == 0) start_box(stage[0], map, m, blockIdx.x, &full[0]);
  unsigned now = 0, parity = 0;
  for (unsigned number = blockIdx.x; number < m.tiles; number += gridDim.x) {
    if (threadIdx.x == 0 && m.tiles - number > gridDim.x)
      start_box(stage[1 - now], map, m, number + gridDim.x, &full[1 - now]);
    wait_for(&full[now], parity);
    make_values(stage[now], m, number);
    __syncthreads();  // this stage may be filled again
    if (now == 1) parity = 1 - parity;
    now = 1 - now;
  }
}

CUtensorMap describe(const with_margin& m, std::size_t rows) {
  CUtensorMap map{};
  const cuuint64_t lengths[] = {m.pitch, rows}, strides[] = {m.pitch * sizeof(std::uint32_t)};
  const cuuint32_t box[] = {kSide, kSide}, steps[] = {1, 1};
  check(encode_tiled()(&map, CU_TENSOR_MAP_DATA_TYPE_UINT32, 2, const_cast<std::uint32_t*>(m.from),
                       lengths, strides, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
                       CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_L2_PROMOTION_L2_128B,
                       CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE));
  return map;
}

}  // namespace

result apply(step version, std::span<const std::uint32_t> values, std::size_t width,
             std::size_t height, unsigned blocks) {
  check(values.size(), width, height, blocks);
  if (values.empty()) return {};
  const std::size_t across = (width + kEdge - 1) / kEdge, down = (height + kEdge - 1) / kEdge;
  require_at_most(cudaDevAttrMaxGridDimX, across * down, "blocks in a grid");
  const std::size_t pitch = across * kEdge + 2 * kReach, rows = down * kEdge + 2 * kReach;
  device_buffer<std::uint32_t> from(pitch * rows), to(values.size());
  CUDA_CHECK(cudaMemset(from.data(), 0, from.size_bytes()));
  CUDA_CHECK(cudaMemcpy2D(from.data() + kReach * pitch + kReach, pitch * sizeof(std::uint32_t),
                          values.data(), width * sizeof(std::uint32_t),
                          width * sizeof(std::uint32_t), height, cudaMemcpyHostToDevice));
  const with_margin m{from.data(),
                      pitch,
                      to.data(),
                      static_cast<unsigned>(width),
                      static_cast<unsigned>(height),
                      static_cast<unsigned>(across),
                      static_cast<unsigned>(across * down)};
  const float ms = time_kernel([&] {
    switch (version) {
      case step::loads:
        by_loads<<<m.tiles, kBlockThreads>>>(m);
        break;
      case step::row_copies:
        by_rows<<<m.tiles, kBlockThreads>>>(m);
        break;
      case step::tensor_copy:
        by_map<<<m.tiles, kBlockThreads>>>(describe(m, rows), m);
        break;
      case step::two_stages: {
        unsigned many = blocks;
        if (many == 0) {
          int resident = 0;
          CUDA_CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(
              &resident, in_turn, static_cast<int>(kBlockThreads), 0));
          many = static_cast<unsigned>(resident) * device_limit(cudaDevAttrMultiProcessorCount);
        }
        in_turn<<<std::min(many, m.tiles), kBlockThreads>>>(describe(m, rows), m);
        break;
      }
    }
  });
  return {to.to_vector(), ms};
}

}  // namespace lab::tma_tiles
