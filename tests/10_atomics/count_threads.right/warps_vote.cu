// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Differs from the solution: the lanes of a warp vote, and one of them adds their number.

#include <cuda_runtime.h>

#include "given.hpp"

namespace lab::count_threads {
namespace {

using counter = unsigned long long;  // the 64-bit type that atomicAdd accepts
static_assert(sizeof(counter) == sizeof(std::uint64_t));

// --- which threads are counted -------------------------------------------------------------------

/// Whether the thread in row i and column j of the grid is counted.
__device__ bool fulfils(condition criterion, std::size_t i, std::size_t j) {
  switch (criterion) {
    case condition::every_thread:
      return true;
    case condition::on_or_below_diagonal:
      return i >= j;
    case condition::on_diagonal:
      return i == j;
    case condition::chessboard:
      return (i + j) % 2 == 0;
  }
  return false;
}

/// Counts in *count, which is 0 before the first thread gets here.
__global__ void count_those_that_fulfil(condition criterion, counter* count) {
  const std::size_t i = std::size_t{blockIdx.y} * blockDim.y + threadIdx.y;
  const std::size_t j = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  const unsigned active = __activemask();
  const unsigned votes = __ballot_sync(active, fulfils(criterion, i, j));
  const unsigned lane = (threadIdx.y * blockDim.x + threadIdx.x) % 32;
  if (votes != 0 && lane == static_cast<unsigned>(__ffs(static_cast<int>(active)) - 1))
    atomicAdd(count, static_cast<counter>(__popc(votes)));
}

}  // namespace

result count(condition criterion, const shape& grid) {
  require_possible(grid);
  const dim3 blocks(grid.blocks.x, grid.blocks.y);
  const dim3 threads(grid.threads.x, grid.threads.y);
  if (blocks.x == 0 || blocks.y == 0 || threads.x == 0 || threads.y == 0) return {};

  device_buffer<counter> device_count(1);  // not 0: a new buffer is filled with 0xFF bytes
  const float kernel_ms = time_kernel(
      [&] { count_those_that_fulfil<<<blocks, threads>>>(criterion, device_count.data()); },
      [&] { CUDA_CHECK(cudaMemset(device_count.data(), 0, device_count.size_bytes())); });
  return {device_count.to_vector().front(), kernel_ms};
}

}  // namespace lab::count_threads
