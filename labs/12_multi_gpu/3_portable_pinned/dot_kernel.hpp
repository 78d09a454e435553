// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 12.3 portable_pinned: the kernel of 12.1 and 12.2, given. It cannot tell where a and b are.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>

#include "lab/block_sum.hpp"

namespace lab::portable_pinned {

constexpr unsigned kThreads = 256;  // of a block: a power of two, since the tree halves it
constexpr unsigned kInFlight = 4;   // products of a thread that are under way at the same time

/// partial[k] = the sum of block k's products. Each element is read once, neighbours by neighbours.
static __global__ void sums_of_blocks(const float* a, const float* b, float* partial,
                                      std::size_t n) {
  __shared__ float cache[kThreads];
  const std::size_t stride = std::size_t{gridDim.x} * blockDim.x;
  std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;

  float sums[kInFlight] = {};
  for (; i + (kInFlight - 1) * stride < n; i += kInFlight * stride) {
    for (unsigned k = 0; k < kInFlight; ++k) sums[k] += a[i + k * stride] * b[i + k * stride];
  }
  for (; i < n; i += stride) sums[0] += a[i] * b[i];

  const float sum = sum_of_block(cache, (sums[0] + sums[1]) + (sums[2] + sums[3]));
  if (threadIdx.x == 0) partial[blockIdx.x] = sum;
}

}  // namespace lab::portable_pinned
