// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 16.3 block_scan: prefix sums, computed by all threads of a block at the same time.
// Edit:  this file, from TODO(1) to TODO(5). block_scan.hpp has the contract.
// Run:   scripts/lab run 16.3 -- --step hillis_steele     (then blelloch, warps)
// Test:  scripts/lab test 16.3
// Hints: scripts/lab hint 16.3                  Chapter: docs/16_warps_and_groups.md

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
  // TODO(1): store the values in `sums`. In the level for d = 1, 2, 4, … each thread adds to its
  //          element the one d positions before it, if there is one.
  //          Invariant: before the level for d, element i is the sum of the last d values up to i.
  //          A level reads elements that the same level changes: what must come in between?
  // BEGIN SOLUTION
  // STUB: sums[threadIdx.x] = mine;
  // STUB: return {mine, mine};
  const unsigned thread = threadIdx.x;
  sums[thread] = mine;
  __syncthreads();  // all values are in place
  for (unsigned d = 1; d < blockDim.x; d *= 2) {
    const unsigned before = thread >= d ? sums[thread - d] : 0;
    __syncthreads();  // all threads have read, so they may write
    mine += before;
    sums[thread] = mine;
    __syncthreads();  // this level is complete
  }
  return {mine, sums[blockDim.x - 1]};
  // END SOLUTION
}

/// Requires a block whose size is a power of two.
__device__ scanned by_blelloch(unsigned* sums, unsigned mine) {
  // TODO(3): up: for d = 1, 2, 4, …, half the block, each element with the number 2 d k - 1, k = 1,
  //          2, …, gets the sum of itself and the one d before it. Then the last one is the total.
  //          Keep that, and replace it with 0. Down: for d = half the block, …, 2, 1 the same
  //          pairs: the left one gets the right one's number, and the right one the sum of both.
  //          Now element i is the sum of the values *before* i. What must `scanned` contain?
  //          Only n / (2 d) threads have a pair; all threads reach all barriers.
  // BEGIN SOLUTION
  // STUB: sums[threadIdx.x] = mine;
  // STUB: return {mine, mine};
  const unsigned thread = threadIdx.x, n = blockDim.x;
  sums[thread] = mine;
  for (unsigned d = 1; d < n; d *= 2) {
    __syncthreads();  // the previous level is complete
    const unsigned right = 2 * d * (thread + 1) - 1;
    if (right < n) sums[right] += sums[right - d];
  }
  __syncthreads();
  const unsigned total = sums[n - 1];
  __syncthreads();  // all threads have read the total
  if (thread == 0) sums[n - 1] = 0;
  for (unsigned d = n / 2; d > 0; d /= 2) {
    __syncthreads();  // the level above it is complete
    const unsigned right = 2 * d * (thread + 1) - 1;
    if (right < n) {
      const unsigned left_sum = sums[right - d], before = sums[right];
      sums[right - d] = before;
      sums[right] = before + left_sum;
    }
  }
  __syncthreads();
  return {sums[thread] + mine, total};
  // END SOLUTION
}

/// The inclusive sum of the lanes 0 to this one. All lanes of a full warp call it.
__device__ unsigned scan_warp(unsigned mine) {
  // TODO(4): Hillis and Steele, with __shfl_up_sync. Which lanes must not add the value they get?
  //          Why is there no barrier?
  // BEGIN SOLUTION
  // STUB: return mine;
  const unsigned lane = threadIdx.x % kLanes;
  for (unsigned d = 1; d < kLanes; d *= 2) {
    const unsigned before = __shfl_up_sync(kAllLanes, mine, d);
    if (lane >= d) mine += before;
  }
  return mine;
  // END SOLUTION
}

/// Requires a block of whole warps.
__device__ scanned by_warps(unsigned* sums, unsigned mine) {
  // TODO(5): scan each warp. One lane of each stores the sum of the warp in `sums`. The first warp
  //          scans these: a block has at most 32. Each thread adds the sum of the warps before its
  //          own.
  // BEGIN SOLUTION
  // STUB: sums[threadIdx.x] = scan_warp(mine);
  // STUB: return {mine, mine};
  const unsigned lane = threadIdx.x % kLanes, warp = threadIdx.x / kLanes;
  const unsigned warps = blockDim.x / kLanes;
  const unsigned in_warp = scan_warp(mine);
  if (lane == kLanes - 1) sums[warp] = in_warp;
  __syncthreads();  // the sums of all warps are complete
  if (warp == 0) {
    const unsigned of_warp = lane < warps ? sums[lane] : 0;
    sums[lane] = scan_warp(of_warp);
  }
  __syncthreads();  // the first warp has scanned them
  return {in_warp + (warp > 0 ? sums[warp - 1] : 0), sums[warps - 1]};
  // END SOLUTION
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

  // TODO(2): go along the row in tiles of blockDim.x elements. Threads beyond the end of the row
  //          contribute 0 and store nothing. Element i is `carry`, the sum of the earlier tiles,
  //          plus the sum in its tile: inclusive, or without the element itself.
  //          All threads of the block scan every tile together, and none begins the next one
  //          while another still reads `sums`.
  // BEGIN SOLUTION
  unsigned carry = 0;
  for (std::size_t begin = 0; begin < length; begin += blockDim.x) {  // the same for all threads
    const std::size_t i = begin + threadIdx.x;
    const unsigned mine = i < length ? values[row + i] : 0;
    const scanned tile = scan_block<kStep>(sums, mine);
    if (i < length) out[row + i] = carry + (mode == kind::inclusive ? tile.sum : tile.sum - mine);
    carry += tile.total;
    __syncthreads();  // all threads have read `sums`, which the next tile overwrites
  }
  // END SOLUTION
}

void launch(step version, unsigned rows, unsigned threads, const unsigned* values, unsigned* out,
            std::size_t length, kind mode) {
  switch (version) {
    // When a step is written, replace its throw with the launch.
    case step::hillis_steele:
      // BEGIN SOLUTION
      // STUB: throw not_written("step hillis_steele", 1);  // 1 and 2; scan_rows<step::…><<<…>>>(…)
      scan_rows<step::hillis_steele><<<rows, threads>>>(values, out, length, mode);
      // END SOLUTION
      break;
    case step::blelloch:
      // BEGIN SOLUTION
      // STUB: throw not_written("step blelloch", 3);
      scan_rows<step::blelloch><<<rows, threads>>>(values, out, length, mode);
      // END SOLUTION
      break;
    case step::warps:
      // BEGIN SOLUTION
      // STUB: throw not_written("step warps", 4);  // 4 and 5
      scan_rows<step::warps><<<rows, threads>>>(values, out, length, mode);
      // END SOLUTION
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
