// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 17.3 tma_tiles: what tma_tiles.cu starts from. There is nothing to do in here.
#pragma once

#include <cuda.h>
#include <cudaTypedefs.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cuda/barrier>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "lab/cuda_check.hpp"
#include "lab/device_buffer.hpp"
#include "lab/errors.hpp"
#include "lab/launch_limits.hpp"
#include "lab/refuse_if.hpp"
#include "lab/time_kernel.hpp"
#include "tma_tiles.hpp"

#ifdef __NVCC__  // a barrier in shared memory has a constructor, and does not need it
#pragma nv_diag_suppress static_var_with_dynamic_init
#endif

namespace lab::tma_tiles {

/// Bulk copies are in here.
namespace cde = cuda::device::experimental;
using block_barrier = cuda::barrier<cuda::thread_scope_block>;

// A block makes kTile x kTile new values. For these it needs kBox x kBox old ones. Thread (x, y)
// makes those of column x in the rows y, y + 8, y + 16 and y + 24.
constexpr int kTile = 32, kBox = kTile + 2 * kReach, kRows = 4;
constexpr unsigned kThreads = kTile * kTile / kRows;
const dim3 kBlock(kTile, kTile / kRows);

/// The number of this thread in its block.
__device__ inline unsigned thread_number() { return threadIdx.y * kTile + threadIdx.x; }

/// Old values in shared memory: a tile and its halo. Value [0][0] is at the top left.
struct alignas(128) tile {
  std::uint32_t at[kBox][kBox];
};

/// The old values, and where the new ones go. On the device. A row of the old ones begins at a
/// multiple of 16 bytes. The values between `width` and `pitch` are padding with unspecified
/// contents.
struct job {
  const std::uint32_t* from;
  std::size_t pitch;  ///< values from a row to the next one: a multiple of 4
  std::uint32_t* to;  ///< without any between the rows
  int width, height;
  unsigned tiles;  ///< how many there are; row by row
};

/// A place in the matrix, or outside of it.
struct coordinates {
  int x, y;
};
/// Where the box of a tile begins: kReach columns left of the tile, and kReach rows above it. x is
/// a multiple of 4.
__device__ inline coordinates box_of(const job& j, unsigned tile_number) {
  const unsigned across = (static_cast<unsigned>(j.width) + kTile - 1) / kTile;
  return {static_cast<int>(tile_number % across) * kTile - kReach,
          static_cast<int>(tile_number / across) * kTile - kReach};
}
__device__ inline bool is_inside(const job& j, int x, int y) {
  return x >= 0 && x < j.width && y >= 0 && y < j.height;
}
/// The address of an old value.
__device__ inline const std::uint32_t* address(const job& j, int x, int y) {
  return j.from + static_cast<std::size_t>(y) * j.pitch + x;
}

/// Makes and stores this thread's new values of the tile whose box is at p.
__device__ inline void store_tile(const tile& box, const job& j, coordinates p) {
  for (int i = 0; i < kRows; ++i) {
    const int column = static_cast<int>(threadIdx.x) + kReach,
              row = static_cast<int>(threadIdx.y) + i * (kTile / kRows) + kReach;
    std::uint32_t sum = 0;
#pragma unroll
    for (int d = -kReach; d <= kReach; ++d)
      sum += static_cast<std::uint32_t>(d + 5) * box.at[row][column + d] +
             static_cast<std::uint32_t>(2 * d + 11) * box.at[row + d][column];
    if (const int x = p.x + column, y = p.y + row; is_inside(j, x, y))
      j.to[static_cast<std::size_t>(y) * static_cast<std::size_t>(j.width) + x] = sum;
  }
}

/// All threads of the block call this once: `count` barriers in shared memory can be used then, by
/// bulk copies, too. A phase of them needs so many arrivals.
__device__ inline void make_barriers(block_barrier* barriers, int count, unsigned arrivals) {
  if (thread_number() == 0) {
    for (int i = 0; i < count; ++i) init(&barriers[i], static_cast<std::ptrdiff_t>(arrivals));
    cde::fence_proxy_async_shared_cta();  // the TMA sees them, too
  }
  __syncthreads();
}

// --- tensor maps ---------------------------------------------------------------------------------

/// cuTensorMapEncodeTiled. It is the driver's: the program is not linked with that, and asks for
/// it.
inline PFN_cuTensorMapEncodeTiled_v12000 encode_tiled() {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
  CUDA_CHECK(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function, 12000,
                                              cudaEnableDefault, &found));
  if (found != cudaDriverEntryPointSuccess)
    throw not_possible("this driver has no cuTensorMapEncodeTiled");
  return reinterpret_cast<PFN_cuTensorMapEncodeTiled_v12000>(function);
}

inline void check(CUresult status) {
  if (status != CUDA_SUCCESS)
    throw std::runtime_error("tma_tiles: cuTensorMapEncodeTiled returns the CUresult " +
                             std::to_string(static_cast<int>(status)));
}

// --- the host's part -----------------------------------------------------------------------------

inline void check(std::size_t values, std::size_t width, std::size_t height, unsigned blocks) {
  refuse_if(std::max(width, height) > kLongestSide, "tma_tiles: a matrix of ", width, " x ", height,
            "; a side has at most ", kLongestSide);
  refuse_if(values != width * height, "tma_tiles: a matrix of ", width, " x ", height, " has not ",
            values, " values");
  refuse_if(blocks > kMostBlocks, "tma_tiles: ", blocks, " blocks; take at most ", kMostBlocks);
  if (device_limit(cudaDevAttrComputeCapabilityMajor) < 9)
    throw not_possible("bulk copies need a device of compute capability 9.0");
}

/// apply(), where launch(j) launches a kernel for the job.
template <class Launch>
result host_part_of_apply(std::span<const std::uint32_t> values, std::size_t width,
                          std::size_t height, unsigned blocks, const Launch& launch) {
  check(values.size(), width, height, blocks);
  if (values.empty()) return {};
  const std::size_t pitch = (width + 3) / 4 * 4, row = width * sizeof(std::uint32_t);
  device_buffer<std::uint32_t> from(pitch * height), to(width * height);
  CUDA_CHECK(cudaMemcpy2D(from.data(), pitch * sizeof(std::uint32_t), values.data(), row, row,
                          height, cudaMemcpyHostToDevice));
  const std::size_t tiles = ((width + kTile - 1) / kTile) * ((height + kTile - 1) / kTile);
  require_at_most(cudaDevAttrMaxGridDimX, tiles, "blocks in a grid");
  const job j{from.data(),
              pitch,
              to.data(),
              static_cast<int>(width),
              static_cast<int>(height),
              static_cast<unsigned>(tiles)};
  const float kernel_ms = time_kernel([&] { launch(j); });
  return {to.to_vector(), kernel_ms};
}

/// As many blocks of a kernel as the device runs at the same time, or as many as were asked for;
/// but no block without a tile.
template <class Kernel>
unsigned blocks_for(Kernel* kernel, const job& j, unsigned asked_for) {
  if (asked_for == 0) {
    int of_one = 0;
    CUDA_CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&of_one, kernel,
                                                             static_cast<int>(kThreads), 0));
    asked_for = static_cast<unsigned>(of_one) * device_limit(cudaDevAttrMultiProcessorCount);
  }
  return std::min(asked_for, j.tiles);
}

}  // namespace lab::tma_tiles
