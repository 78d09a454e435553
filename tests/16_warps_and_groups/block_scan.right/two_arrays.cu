// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Differs from the solution: Hillis and Steele with two arrays and one barrier a level,
// Blelloch by the thread of the right element, and every warp adds up the sums of the warps itself.

#include <cuda_runtime.h>

#include "given.hpp"

namespace lab::block_scan {
namespace {

// --- three ways to scan as many values as the block has threads -------------------------------
// All threads of the block call these, each with its own value. `sums` is shared memory with an
// element for each thread. A function may return before all threads have read its results there:
// synchronize before you use `sums` again.

struct scanned {
  unsigned sum;    ///< of the values of threads 0 to this one: inclusive
  unsigned total;  ///< of the values of all threads
};

__device__ scanned by_hillis_steele(unsigned* sums, unsigned mine) {
  // Two arrays in turn: one barrier for each level.
  __shared__ unsigned both[2][kMostThreads];
  const unsigned i = threadIdx.x;
  unsigned now = 0;
  both[0][i] = mine;
  __syncthreads();
  for (unsigned d = 1; d < blockDim.x; d *= 2) {
    both[1 - now][i] = both[now][i] + (i >= d ? both[now][i - d] : 0);
    now = 1 - now;
    __syncthreads();
  }
  sums[i] = both[now][i];
  __syncthreads();
  return {sums[i], sums[blockDim.x - 1]};
}

/// Requires a block whose size is a power of two.
__device__ scanned by_blelloch(unsigned* sums, unsigned mine) {
  // The thread of the right element of a pair works on it; the total goes to a separate variable.
  __shared__ unsigned total;
  const unsigned i = threadIdx.x;
  sums[i] = mine;
  for (unsigned d = 1; d < blockDim.x; d *= 2) {
    __syncthreads();
    if ((i + 1) % (2 * d) == 0) sums[i] += sums[i - d];
  }
  if (i == blockDim.x - 1) {
    total = sums[i];
    sums[i] = 0;
  }
  for (unsigned d = blockDim.x / 2; d > 0; d /= 2) {
    __syncthreads();
    if ((i + 1) % (2 * d) == 0) {
      const unsigned left = sums[i - d];
      sums[i - d] = sums[i];
      sums[i] += left;
    }
  }
  __syncthreads();
  return {sums[i] + mine, total};
}

/// The inclusive sum of the lanes 0 to this one. All lanes of a full warp call it.
__device__ unsigned scan_warp(unsigned mine) {
  for (unsigned d = 1; d < kLanes; d *= 2) {
    const unsigned before = __shfl_up_sync(kAllLanes, mine, d);
    if (threadIdx.x % kLanes >= d) mine += before;
  }
  return mine;
}

/// Requires a block of whole warps.
__device__ scanned by_warps(unsigned* sums, unsigned mine) {
  // Every warp adds up the sums of the warps itself: one barrier.
  const unsigned lane = threadIdx.x % kLanes, warp = threadIdx.x / kLanes;
  const unsigned in_warp = scan_warp(mine);
  if (lane == kLanes - 1) sums[warp] = in_warp;
  __syncthreads();
  const unsigned of_warp = lane < blockDim.x / kLanes ? sums[lane] : 0;
  const unsigned all = scan_warp(of_warp);
  const unsigned before = __shfl_sync(kAllLanes, all - of_warp, warp);
  return {in_warp + before, __shfl_sync(kAllLanes, all, kLanes - 1)};
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
    if (i < length) out[row + i] = carry + tile.sum - (mode == kind::exclusive ? mine : 0);
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
