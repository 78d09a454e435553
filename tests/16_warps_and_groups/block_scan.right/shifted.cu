// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Differs from the solution: an exclusive scan stores each sum one element further on, and the
// warps are tiles of cooperative groups.

#include <cooperative_groups.h>
#include <cuda_runtime.h>

#include "given.hpp"

namespace lab::block_scan {
namespace {

namespace cg = cooperative_groups;

// --- three ways to scan as many values as the block has threads -------------------------------
// All threads of the block call these, each with its own value. `sums` is shared memory with an
// element for each thread. A function may return before all threads have read its results there:
// synchronize before you use `sums` again.

struct scanned {
  unsigned sum;    ///< of the values of threads 0 to this one: inclusive
  unsigned total;  ///< of the values of all threads
};

__device__ scanned by_hillis_steele(unsigned* sums, unsigned mine) {
  const unsigned i = threadIdx.x;
  sums[i] = mine;
  __syncthreads();
  for (unsigned d = 1; d < blockDim.x; d *= 2) {
    const unsigned before = i >= d ? sums[i - d] : 0;
    __syncthreads();
    mine += before;
    sums[i] = mine;
    __syncthreads();
  }
  return {mine, sums[blockDim.x - 1]};
}

/// Requires a block whose size is a power of two.
__device__ scanned by_blelloch(unsigned* sums, unsigned mine) {
  const unsigned i = threadIdx.x, n = blockDim.x;
  sums[i] = mine;
  __syncthreads();
  for (unsigned d = 1; d < n; d *= 2) {
    const unsigned right = 2 * d * (i + 1) - 1;
    if (right < n) sums[right] += sums[right - d];
    __syncthreads();
  }
  const unsigned total = sums[n - 1];
  __syncthreads();
  if (i == 0) sums[n - 1] = 0;
  __syncthreads();
  for (unsigned d = n / 2; d > 0; d /= 2) {
    const unsigned right = 2 * d * (i + 1) - 1;
    if (right < n) {
      const unsigned from_left = sums[right - d];
      sums[right - d] = sums[right];
      sums[right] += from_left;
    }
    __syncthreads();
  }
  return {sums[i] + mine, total};
}

/// The inclusive sum of the lanes 0 to this one. All lanes of a full warp call it.
__device__ unsigned scan_warp(unsigned mine) {
  const auto warp = cg::tiled_partition<32>(cg::this_thread_block());
  for (unsigned d = 1; d < warp.num_threads(); d <<= 1) {
    const unsigned before = warp.shfl_up(mine, d);
    mine += warp.thread_rank() >= d ? before : 0;
  }
  return mine;
}

/// Requires a block of whole warps.
__device__ scanned by_warps(unsigned* sums, unsigned mine) {
  const unsigned lane = threadIdx.x % kLanes, warp = threadIdx.x / kLanes;
  const unsigned in_warp = scan_warp(mine);
  if (lane == kLanes - 1) sums[warp] = in_warp;
  __syncthreads();
  if (warp == 0) {
    const unsigned all = scan_warp(lane < blockDim.x / kLanes ? sums[lane] : 0);
    sums[lane] = all;
  }
  __syncthreads();
  return {in_warp + (warp > 0 ? sums[warp - 1] : 0), sums[kLanes - 1]};
}

template <step kStep>
__device__ scanned scan_block(unsigned* sums, unsigned mine) {
  if constexpr (kStep == step::hillis_steele)
    return by_hillis_steele(sums, mine);
  else if constexpr (kStep == step::blelloch)
    return by_blelloch(sums, mine);
  else
    return by_warps(sums, mine);
}

// --- rows of any length: one tile after the other ------------------------------------------------

template <step kStep>
__global__ void scan_rows(const unsigned* values, unsigned* out, std::size_t length, kind mode) {
  __shared__ unsigned sums[kMostThreads];
  const std::size_t row = blockIdx.x * length;  // where this block's row begins

  unsigned carry = 0;
  for (std::size_t begin = 0; begin < length; begin += blockDim.x) {
    const std::size_t i = begin + threadIdx.x;
    const unsigned mine = i < length ? values[row + i] : 0;
    const scanned tile = scan_block<kStep>(sums, mine);
    // Exclusive: the sum up to this element belongs to the next one.
    if (mode == kind::inclusive) {
      if (i < length) out[row + i] = carry + tile.sum;
    } else {
      if (i == 0) out[row] = 0;
      if (i + 1 < length) out[row + i + 1] = carry + tile.sum;
    }
    carry += tile.total;
    __syncthreads();
  }
}

void launch(step version, unsigned rows, unsigned threads, const unsigned* values, unsigned* out,
            std::size_t length, kind mode) {
  switch (version) {
    case step::hillis_steele:
      scan_rows<step::hillis_steele><<<rows, threads>>>(values, out, length, mode);
      break;
    case step::blelloch:
      scan_rows<step::blelloch><<<rows, threads>>>(values, out, length, mode);
      break;
    case step::warps:
      scan_rows<step::warps><<<rows, threads>>>(values, out, length, mode);
      break;
  }
}

}  // namespace

// --- given: the host's part ----------------------------------------------------------------------

result scan(step version, kind mode, std::span<const std::uint32_t> values, std::size_t row_length,
            unsigned threads) {
  const unsigned rows = rows_of(values.size(), row_length, threads);
  if (rows == 0) return {};
  const device_buffer device_values(values);
  device_buffer<unsigned> out(values.size());
  const float kernel_ms = time_kernel(
      [&] { launch(version, rows, threads, device_values.data(), out.data(), row_length, mode); });
  return {out.to_vector(), kernel_ms};
}

}  // namespace lab::block_scan
