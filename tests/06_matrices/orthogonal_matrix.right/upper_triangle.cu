// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Differs from the solution: blocks below the diagonal have nothing to do, and the farthest of a
// block is found by shuffles.

#include <cuda_runtime.h>

#include "given.hpp"

namespace lab::orthogonal_matrix {
namespace {

constexpr unsigned kTile = 16;                // a block is kTile x kTile threads
constexpr unsigned kThreads = kTile * kTile;  // one for each entry of the product
static_assert((kThreads & (kThreads - 1)) == 0, "the tree halves the block until 1 is left");

/// How far `sum`, an entry of A · Aᵀ, is from the identity's.
__device__ float deviation_of(float sum, bool on_the_diagonal) {
  const float deviation = fabsf(sum - (on_the_diagonal ? 1.0F : 0.0F));
  return isnan(deviation) ? INFINITY : deviation;
}

/// From one candidate per thread to one per block, for thread 0. All threads of the block call it.
__device__ candidate farthest_of_block(candidate* all, unsigned thread, candidate mine) {
  // Within each warp by shuffles, then the first warp for all.
  constexpr unsigned kWarp = 32, kWarps = kThreads / kWarp;
  const auto from_lane = [](const candidate& one, unsigned offset, unsigned width) {
    return candidate{
        __shfl_down_sync(0xFFFFFFFF, one.deviation, offset, width),
        __shfl_down_sync(0xFFFFFFFF, static_cast<unsigned long long>(one.index), offset, width)};
  };
  for (unsigned offset = kWarp / 2; offset != 0; offset /= 2)
    mine = farther(mine, from_lane(mine, offset, kWarp));
  if (thread % kWarp == 0) all[thread / kWarp] = mine;
  __syncthreads();
  if (thread >= kWarp) return mine;
  mine = all[thread % kWarps];
  for (unsigned offset = kWarps / 2; offset != 0; offset /= 2)
    mine = farther(mine, from_lane(mine, offset, kWarps));
  return mine;
}

__global__ void __launch_bounds__(kThreads)
    examine_tile(const float* a, candidate* of_block, std::size_t n) {
  // Entry (row, column) of A · Aᵀ is the sum over i of A[row][i] * A[column][i]: a row times a row.
  __shared__ float upper[kTile][kTile + 1];  // [row of the entry][i]
  __shared__ float lower[kTile][kTile + 1];  // [column of the entry][i]; + 1: no bank conflicts
  __shared__ candidate all[kThreads];

  const unsigned tx = threadIdx.x, ty = threadIdx.y;
  const std::size_t first_row = std::size_t{blockIdx.y} * kTile;
  const std::size_t first_column = std::size_t{blockIdx.x} * kTile;
  // The product is symmetric, and of two equal entries the upper one comes first.
  if (blockIdx.x < blockIdx.y) {
    if (tx == 0 && ty == 0) of_block[std::size_t{blockIdx.y} * gridDim.x + blockIdx.x] = nobody();
    return;
  }
  float sum = 0;
  for (std::size_t first = 0; first < n; first += kTile) {
    upper[ty][tx] = element(a, n, first_row + ty, first + tx);
    lower[ty][tx] = element(a, n, first_column + ty, first + tx);
    __syncthreads();
    for (unsigned i = 0; i < kTile; ++i) sum += upper[ty][i] * lower[tx][i];
    __syncthreads();
  }
  const std::size_t row = first_row + ty, column = first_column + tx;
  candidate mine = nobody();
  if (row < n && column < n) mine = {deviation_of(sum, row == column), row * n + column};
  const unsigned thread = ty * kTile + tx;
  const candidate farthest = farthest_of_block(all, thread, mine);
  if (thread == 0) of_block[std::size_t{blockIdx.y} * gridDim.x + blockIdx.x] = farthest;
}

/// How many blocks of kTile entries a row, or a column, of the product needs. (A grid has at most
/// 65 535 blocks in y: enough for a million rows, which no memory holds.)
unsigned tiles_for(std::size_t n) { return static_cast<unsigned>((n + kTile - 1) / kTile); }

/// The result, from the candidates of all blocks. `of_block` has at least one candidate.
result conclude(const std::vector<candidate>& of_block, std::size_t n) {
  candidate farthest = of_block[0];
  for (const candidate& each : of_block) farthest = farther(farthest, each);
  result out;
  out.deviation = farthest.deviation;
  out.row = farthest.index / n;
  out.column = farthest.index % n;
  out.orthogonal = out.deviation <= tolerance(n);
  return out;
}

}  // namespace

result examine(std::span<const float> a, std::size_t rows, std::size_t columns) {
  require_good(a, rows, columns);
  const std::size_t n = rows;
  if (n == 0) return {};  // a grid of no blocks would be an error

  const dim3 grid(tiles_for(n), tiles_for(n)), block(kTile, kTile);
  const device_buffer on_device(a);
  device_buffer<candidate> of_block(std::size_t{grid.x} * grid.y);
  const float kernel_ms =
      time_kernel([&] { examine_tile<<<grid, block>>>(on_device.data(), of_block.data(), n); });
  result out = conclude(of_block.to_vector(), n);
  out.kernel_ms = kernel_ms;
  return out;
}

}  // namespace lab::orthogonal_matrix
