// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 10.1 count_threads: the threads of a grid count themselves, all in the same counter.
// Edit:  this nearly empty file: TODO(1) and TODO(2). count_threads.hpp has the contract.
// Run:   scripts/lab run 10.1 -- --condition on_diagonal
// Test:  scripts/lab test 10.1
// Hints: scripts/lab hint 10.1                  Chapter: docs/10_atomics.md

#include <cuda_runtime.h>

#include "given.hpp"

namespace lab::count_threads {
namespace {

// TODO(1): a kernel whose threads compute their row i and column j in the grid (not in the block),
//          and add 1 to one counter if they satisfy the condition. Many threads do so at the same
//          time: reading the number, adding 1 and writing it back must be one indivisible step.
//          (unsigned long long is the 64-bit type that atomicAdd accepts.)
// BEGIN SOLUTION
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
  if (fulfils(criterion, i, j)) atomicAdd(count, 1ULL);
}
// END SOLUTION

}  // namespace

result count(condition criterion, const shape& grid) {
  // TODO(2): require_possible() of given.hpp rejects what the contract rejects. Then the counter,
  //          and the launch, in exactly this shape, in a time_kernel(). It may run the kernel
  //          several times, so set the counter to 0 with cudaMemset() in the function that it runs
  //          before each launch, and check that call like every call.
  // BEGIN SOLUTION
  // STUB: throw not_written("counting", 1);
  require_possible(grid);
  const dim3 blocks(grid.blocks.x, grid.blocks.y);
  const dim3 threads(grid.threads.x, grid.threads.y);
  if (blocks.x == 0 || blocks.y == 0 || threads.x == 0 || threads.y == 0) return {};

  device_buffer<counter> device_count(1);  // not 0: a new buffer is filled with 0xFF bytes
  const float kernel_ms = time_kernel(
      [&] { count_those_that_fulfil<<<blocks, threads>>>(criterion, device_count.data()); },
      [&] { CUDA_CHECK(cudaMemset(device_count.data(), 0, device_count.size_bytes())); });
  return {device_count.to_vector().front(), kernel_ms};
  // END SOLUTION
}

}  // namespace lab::count_threads
