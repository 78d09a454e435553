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
  sums[threadIdx.x] = mine;
  return {mine, mine};
}

/// Requires a block whose size is a power of two.
__device__ scanned by_blelloch(unsigned* sums, unsigned mine) {
  // TODO(3): up: for d = 1, 2, 4, …, half the block, each element with the number 2 d k - 1, k = 1,
  //          2, …, gets the sum of itself and the one d before it. Then the last one is the total.
  //          Keep that, and replace it with 0. Down: for d = half the block, …, 2, 1 the same
  //          pairs: the left one gets the right one's number, and the right one the sum of both.
  //          Now element i is the sum of the values *before* i. What must `scanned` contain?
  //          Only n / (2 d) threads have a pair; all threads reach all barriers.
  sums[threadIdx.x] = mine;
  return {mine, mine};
}

/// The inclusive sum of the lanes 0 to this one. All lanes of a full warp call it.
__device__ unsigned scan_warp(unsigned mine) {
  // TODO(4): Hillis and Steele, with __shfl_up_sync. Which lanes must not add the value they get?
  //          Why is there no barrier?
  return mine;
}

/// Requires a block of whole warps.
__device__ scanned by_warps(unsigned* sums, unsigned mine) {
  // TODO(5): scan each warp. One lane of each stores the sum of the warp in `sums`. The first warp
  //          scans these: a block has at most 32. Each thread adds the sum of the warps before its
  //          own.
  sums[threadIdx.x] = scan_warp(mine);
  return {mine, mine};
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
}

void launch(step version, unsigned rows, unsigned threads, const unsigned* values, unsigned* out,
            std::size_t length, kind mode) {
  switch (version) {
    // When a step is written, replace its throw with the launch.
    case step::hillis_steele:
      throw not_written("step hillis_steele", 1);  // 1 and 2; scan_rows<step::…><<<…>>>(…)
      break;
    case step::blelloch:
      throw not_written("step blelloch", 3);
      break;
    case step::warps:
      throw not_written("step warps", 4);  // 4 and 5
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
