// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 10.1 count_threads: the threads of a grid count themselves, all in the same counter.
// Edit:  this file, from TODO(1) to TODO(3). count_threads.hpp says what is asked for.
// Run:   scripts/lab run 10.1 -- --condition on_diagonal
// Test:  scripts/lab test 10.1
// Hints: scripts/lab hint 10.1                  Chapter: docs/10_atomics.md

#include <cuda_runtime.h>

#include "given.hpp"

namespace lab::count_threads {
namespace {

using counter = unsigned long long;  // CUDA's name for 64 bits that atomicAdd takes
static_assert(sizeof(counter) == sizeof(std::uint64_t));

// --- who is counted ------------------------------------------------------------------------------

/// Whether the thread in row i and column j of the grid is counted.
__device__ bool fulfils(condition which, std::size_t i, std::size_t j) {
  // TODO(1): the four conditions, as count_threads.hpp describes them.
  // BEGIN SOLUTION
  // STUB: return false;
  switch (which) {
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
  // END SOLUTION
}

/// Counts in *count, which is 0 before the first thread gets here.
__global__ void count_those_that_fulfil(condition which, counter* count) {
  // TODO(2): find this thread's row i and column j in the grid (not in its block). If it fulfils
  //          the condition, add 1 to *count. Many threads do so at the same time: reading the
  //          number, adding 1 and writing it back must be one step that nothing comes between.
  // BEGIN SOLUTION
  const std::size_t i = std::size_t{blockIdx.y} * blockDim.y + threadIdx.y;
  const std::size_t j = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (fulfils(which, i, j)) atomicAdd(count, 1ULL);
  // END SOLUTION
}

}  // namespace

// --- given: what the device can launch -----------------------------------------------------------

// --- the host's part -----------------------------------------------------------------------------

result count(condition which, const shape& grid) {
  require_possible(grid);
  const dim3 blocks(grid.blocks.x, grid.blocks.y);
  const dim3 threads(grid.threads.x, grid.threads.y);
  if (blocks.x == 0 || blocks.y == 0 || threads.x == 0 || threads.y == 0) return {};

  device_buffer<counter> device_count(1);  // not 0: a new buffer is filled with 0xFF bytes
  // TODO(3): launch the kernel in a time_kernel(). It may run the kernel several times, so set the
  //          counter to 0 by cudaMemset() in what time_kernel() runs before each launch, and check
  //          that call as every call.
  // BEGIN SOLUTION
  // STUB: throw not_written("counting", 1);
  const float kernel_ms = time_kernel(
      [&] { count_those_that_fulfil<<<blocks, threads>>>(which, device_count.data()); },
      [&] { CUDA_CHECK(cudaMemset(device_count.data(), 0, device_count.size_bytes())); });
  return {device_count.to_vector().front(), kernel_ms};
  // END SOLUTION
}

}  // namespace lab::count_threads
