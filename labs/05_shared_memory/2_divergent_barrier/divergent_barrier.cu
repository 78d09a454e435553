// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 05.2 divergent_barrier: two kernels that are complete, compile, and are wrong. Fix them.
// Edit:  this file: TODO(1) and TODO(2). divergent_barrier.hpp says what the kernels should do.
// Run:   scripts/lab run 05.2 -- --step sums     (then --step means)
// Test:  scripts/lab test 05.2
// Hints: scripts/lab hint 05.2                   Chapter: docs/05_shared_memory.md

#include <cuda_runtime.h>

#include "given.hpp"

namespace lab::divergent_barrier {
namespace {

// --- a sum for each block ------------------------------------------------------------------------

// TODO(1): this was meant to save time: in a level of the tree most threads add nothing, so why
//          should they wait? Run this kernel on the CPU device, read the report, and fix it.
//          Invariant: every thread of the block reaches every __syncthreads(), and reaches it as
//          many times as all the others.
__global__ void sum_each_block(const float* values, float* sums, std::size_t n) {
  __shared__ float cache[kBlock];
  const unsigned thread = threadIdx.x;
  const std::size_t i = std::size_t{blockIdx.x} * kBlock + thread;
  cache[thread] = i < n ? values[i] : 0.0F;
  __syncthreads();

  for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
    if (thread < half) {
      cache[thread] += cache[thread + half];
      __syncthreads();
    }
  }
  if (thread == 0) sums[blockIdx.x] = cache[0];
}

// --- each number minus the mean of its column ----------------------------------------------------

// TODO(2): the same idea again, in a tree that goes down the columns: row y adds row y + half.
//          This time *all* threads need the result. Run it: the report has two lines of this file.
//          What does each of the two groups of threads wait for?
__global__ void subtract_column_means(const float* table, float* result, std::size_t columns) {
  __shared__ float tile[kRows][kColumns];
  const unsigned x = threadIdx.x, y = threadIdx.y;
  const std::size_t column = std::size_t{blockIdx.x} * kColumns + x;
  const float value = column < columns ? table[y * columns + column] : 0.0F;
  tile[y][x] = value;

  for (unsigned half = kRows / 2; half > 0; half /= 2) {
    if (y < half) {
      __syncthreads();  // the previous level is complete
      tile[y][x] += tile[y + half][x];
    }
  }
  __syncthreads();  // the sums of the columns are complete
  if (column < columns) result[y * columns + column] = value - tile[0][x] / kRows;
}

}  // namespace

result sums_of_blocks(std::span<const float> values) {
  return host_part_of_sums(values,
                           [](unsigned blocks, const float* in, float* sums, std::size_t n) {
                             sum_each_block<<<blocks, kBlock>>>(in, sums, n);
                           });
}

result minus_column_means(std::span<const float> table) {
  const auto launch = [](unsigned blocks, const float* in, float* out, std::size_t columns) {
    subtract_column_means<<<blocks, dim3(kColumns, kRows)>>>(in, out, columns);
  };
  return host_part_of_means(table, launch);
}

}  // namespace lab::divergent_barrier
