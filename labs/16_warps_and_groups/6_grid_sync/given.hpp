// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 16.6 grid_sync: what grid_sync.cu starts from. There is nothing to do in here.
#pragma once

#include <cooperative_groups.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

#include "grid_sync.hpp"
#include "lab/block_sum.hpp"
#include "lab/cuda_check.hpp"
#include "lab/device_buffer.hpp"
#include "lab/errors.hpp"
#include "lab/launch_limits.hpp"
#include "lab/refuse_if.hpp"
#include "lab/time_kernel.hpp"

namespace lab::grid_sync {

namespace cg = cooperative_groups;

constexpr unsigned kThreads = 256;      // a block: a power of two
constexpr unsigned kMostBlocks = 1024;  // each block adds up the sums of all: not too many

/// Blocks for n cells. With more than kMostBlocks * kThreads cells a thread has several.
inline unsigned blocks_for(std::size_t n) {
  return static_cast<unsigned>(std::min<std::size_t>((n + kThreads - 1) / kThreads, kMostBlocks));
}

/// The system and the solver's memory on the device. All vectors have n elements.
struct vectors {
  std::size_t width, n;
  const double* b;  ///< the right-hand side
  double *x, *r;    ///< the solution so far, and its residual b - A x
  double *p, *q;    ///< the direction of the next step, and A p
  double *pq, *rr;  ///< an element for each block: its part of the dot products p·q and r·r
};

/// What the solver tells the host at the end.
struct outcome {
  std::size_t iterations;
  double rr, enough;  ///< r·r, and how large it may be
};

/// A grid-stride loop: this thread's first cell, and the distance to its next one.
__device__ inline std::size_t first_cell() {
  return std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
}
__device__ inline std::size_t cells_apart() { return std::size_t{gridDim.x} * blockDim.x; }

/// The sum of what the threads of this block contribute, for all of them. All of them call it.
__device__ inline double sum_of_threads(double mine) {
  __shared__ double cache[kThreads];
  __syncthreads();  // all threads have read the previous sum
  return sum_of_block(cache, mine);
}

/// Adds up what the threads of this block contribute, as this block's part of a dot product.
__device__ inline void store_part(double* parts, double mine) {
  const double sum = sum_of_threads(mine);
  if (threadIdx.x == 0) parts[blockIdx.x] = sum;
}

/// The dot product, from the parts of all blocks. Every block adds them in the same order, so every
/// thread of the grid gets the same bits.
__device__ inline double sum_of_parts(const double* parts, unsigned blocks) {
  double mine = 0;
  for (unsigned i = threadIdx.x; i < blocks; i += kThreads) mine += parts[i];
  return sum_of_threads(mine);
}

/// Refuses what the contract refuses.
inline void check(std::span<const double> b, std::size_t width, std::size_t height,
                  double tolerance) {
  const bool fits = b.empty() ? width == 0 || height == 0
                              : width != 0 && b.size() % width == 0 && b.size() / width == height;
  refuse_if(!fits, "grid_sync: b has ", b.size(), " elements, which are not ", height, " rows of ",
            width);
  refuse_if(!(tolerance >= 1e-15 && tolerance <= 1), "grid_sync: the tolerance is ", tolerance,
            "; take one from 1e-15 to 1");
  double largest = 0;
  for (const double element : b) {
    refuse_if(!std::isfinite(element), "grid_sync: b has an element that is not finite");
    largest = std::max(largest, std::fabs(element));
  }
  refuse_if(largest != 0 && !(largest >= 1e-100 && largest <= 1e100),
            "grid_sync: the largest element of b must be 0, or from 1e-100 to 1e100");
}

}  // namespace lab::grid_sync
