// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 16.5 compaction: what compaction.cu starts from. There is nothing to do in here.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "compaction.hpp"
#include "lab/cuda_check.hpp"
#include "lab/device_buffer.hpp"
#include "lab/errors.hpp"
#include "lab/launch_limits.hpp"
#include "lab/time_kernel.hpp"

namespace lab::compaction {

using count = unsigned long long;  // CUDA's name for 64 bits that atomicAdd takes

constexpr unsigned kLanes = 32;  // of a warp
constexpr unsigned kAllLanes = 0xFFFF'FFFF;
constexpr unsigned kThreads = 256;                      // a block: whole warps
constexpr std::size_t kRun = std::size_t{32} * kLanes;  // elements of a warp, one after the other

/// How many warps n elements need, with kRun for each.
inline std::size_t warps_for(std::size_t n) { return (n + kRun - 1) / kRun; }

/// Blocks for that many warps.
inline unsigned blocks_for(std::size_t warps) {
  return static_cast<unsigned>((warps * kLanes + kThreads - 1) / kThreads);
}

/// Replaces n counts by their exclusive scan, and counts[n] by the sum of all: 16.3, by one block
/// of kScanThreads threads.
constexpr unsigned kScanThreads = 1024;
template <class Count>
__global__ void scan_counts(Count* counts, std::size_t n) {
  __shared__ Count sums[kLanes];
  const unsigned lane = threadIdx.x % kLanes, warp = threadIdx.x / kLanes;
  const auto scan_warp = [lane](Count mine) {
    for (unsigned d = 1; d < kLanes; d *= 2) {
      const Count before = __shfl_up_sync(kAllLanes, mine, d);
      if (lane >= d) mine += before;
    }
    return mine;
  };
  Count carry = 0;
  for (std::size_t begin = 0; begin < n; begin += kScanThreads) {
    const std::size_t i = begin + threadIdx.x;
    const Count mine = i < n ? counts[i] : 0;
    const Count in_warp = scan_warp(mine);
    if (lane == kLanes - 1) sums[warp] = in_warp;
    __syncthreads();
    if (warp == 0) sums[lane] = scan_warp(sums[lane]);  // as many warps as lanes
    __syncthreads();
    if (i < n) counts[i] = carry + (warp > 0 ? sums[warp - 1] : 0) + in_warp - mine;
    carry += sums[kLanes - 1];
    __syncthreads();  // all threads have read `sums`
  }
  if (threadIdx.x == 0) counts[n] = carry;
}

}  // namespace lab::compaction
