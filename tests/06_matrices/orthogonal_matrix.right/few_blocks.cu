// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Differs from the solution: at most 64 blocks, each of which takes many tiles of 32 x 32, with
// four entries per thread, and one tree at the end.

#include <cuda_runtime.h>

#include <algorithm>

#include "given.hpp"

namespace lab::orthogonal_matrix {
namespace {

constexpr unsigned kTile = 32, kRows = 8;  // a block is 32 x 8 threads for 32 x 32 entries
constexpr unsigned kThreads = kTile * kRows;
constexpr unsigned kEach = kTile / kRows;  // entries of a thread, one below the other
constexpr unsigned kMostBlocks = 64;       // of a grid: each takes every 64th tile

/// How far `sum`, an entry of A · Aᵀ, is from the identity's.
__device__ float deviation_of(float sum, bool on_the_diagonal) {
  const float deviation = fabsf(sum - (on_the_diagonal ? 1.0F : 0.0F));
  return isnan(deviation) ? INFINITY : deviation;
}

/// From one candidate per thread to one per block, for thread 0. All threads of the block call it.
__device__ candidate farthest_of_block(candidate* all, unsigned thread, candidate mine) {
  all[thread] = mine;
  __syncthreads();
  for (unsigned half = kThreads / 2; half > 0; half /= 2) {
    if (thread < half) all[thread] = farther(all[thread], all[thread + half]);
    __syncthreads();
  }
  return all[0];
}

__global__ void __launch_bounds__(kThreads)
    examine_tiles(const float* a, candidate* of_block, std::size_t n, std::size_t across) {
  __shared__ float upper[kTile][kTile];
  __shared__ float lower[kTile][kTile + 1];  // [i][column of the entry]
  __shared__ candidate all[kThreads];
  const unsigned tx = threadIdx.x % kTile, ty = threadIdx.x / kTile;
  candidate mine = nobody();
  for (std::size_t tile = blockIdx.x; tile < across * across; tile += gridDim.x) {
    const std::size_t first_row = tile / across * kTile, first_column = tile % across * kTile;
    float sums[kEach] = {};
    for (std::size_t first = 0; first < n; first += kTile) {
      for (unsigned y = ty; y < kTile; y += kRows) {
        upper[y][tx] = element(a, n, first_row + y, first + tx);
        lower[tx][y] = element(a, n, first_column + y, first + tx);
      }
      __syncthreads();
      for (unsigned i = 0; i < kTile; ++i)
        for (unsigned j = 0; j < kEach; ++j)
          sums[j] = fmaf(upper[ty + j * kRows][i], lower[i][tx], sums[j]);
      __syncthreads();
    }
    for (unsigned j = 0; j < kEach; ++j) {
      const std::size_t row = first_row + ty + j * kRows, column = first_column + tx;
      if (row < n && column < n)
        mine = farther(mine, {deviation_of(sums[j], row == column), row * n + column});
    }
  }
  const candidate farthest = farthest_of_block(all, threadIdx.x, mine);
  if (threadIdx.x == 0) of_block[blockIdx.x] = farthest;
}

/// The result, from the candidates of all blocks. `of_block` has at least one candidate.
result conclude(const std::vector<candidate>& of_block, std::size_t n) {
  const candidate farthest = *std::min_element(
      of_block.begin(), of_block.end(), [](const candidate& one, const candidate& other) {
        return one.deviation != other.deviation ? one.deviation > other.deviation
                                                : one.index < other.index;
      });
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

  const std::size_t across = (n + kTile - 1) / kTile;
  const auto blocks = static_cast<unsigned>(std::min<std::size_t>(across * across, kMostBlocks));
  const device_buffer on_device(a);
  device_buffer<candidate> of_block(blocks);
  const float kernel_ms = time_kernel(
      [&] { examine_tiles<<<blocks, kThreads>>>(on_device.data(), of_block.data(), n, across); });
  result out = conclude(of_block.to_vector(), n);
  out.kernel_ms = kernel_ms;
  return out;
}

}  // namespace lab::orthogonal_matrix
