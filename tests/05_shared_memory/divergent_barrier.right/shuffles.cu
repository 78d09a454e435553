// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Differs from the solution: the threads of a warp add by shuffles, and only the sums of the warps
// meet in shared memory. The columns are added by a tree that begins with neighbouring rows.

#include <cuda_runtime.h>

#include "given.hpp"

namespace lab::divergent_barrier {
namespace {

__global__ void sum_each_block(const float* values, float* sums, std::size_t n) {
  __shared__ float of_warp[kBlock / 32];
  const unsigned thread = threadIdx.x;
  const std::size_t i = std::size_t{blockIdx.x} * kBlock + thread;
  float sum = i < n ? values[i] : 0.0F;
  for (unsigned lanes = 16; lanes > 0; lanes /= 2) sum += __shfl_down_sync(~0U, sum, lanes);
  if (thread % 32 == 0) of_warp[thread / 32] = sum;
  __syncthreads();
  if (thread >= 32) return;
  sum = thread < kBlock / 32 ? of_warp[thread] : 0.0F;
  for (unsigned lanes = kBlock / 64; lanes > 0; lanes /= 2)
    sum += __shfl_down_sync(~0U, sum, lanes);
  if (thread == 0) sums[blockIdx.x] = sum;
}

__global__ void subtract_column_means(const float* table, float* result, std::size_t columns) {
  __shared__ float tile[kRows][kColumns];
  const unsigned x = threadIdx.x, y = threadIdx.y;
  const std::size_t column = std::size_t{blockIdx.x} * kColumns + x;
  const float value = column < columns ? table[y * columns + column] : 0.0F;
  tile[y][x] = value;

  for (unsigned apart = 1; apart < kRows; apart *= 2) {
    __syncthreads();
    if (y % (2 * apart) == 0) tile[y][x] += tile[y + apart][x];
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
