// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Hillis and Steele with zeros in front of the values instead of a condition; only additions on the
// way down Blelloch's tree (Brent and Kung), which gives the inclusive scan directly; warps by
// cg::inclusive_scan. A row is scanned in place.

#include <cooperative_groups.h>
#include <cooperative_groups/scan.h>
#include <cuda_runtime.h>

#include "given.hpp"

namespace lab::block_scan {
namespace {

namespace cg = cooperative_groups;

/// Each returns the sum of the values of threads 0 to this one. `sums` has room for two elements
/// for each thread.
__device__ unsigned by_hillis_steele(unsigned* sums, unsigned mine) {
  unsigned* const own = sums + blockDim.x + threadIdx.x;
  sums[threadIdx.x] = 0;
  *own = mine;
  for (unsigned d = 1; d < blockDim.x; d *= 2) {
    __syncthreads();
    mine += *(own - d);
    __syncthreads();
    *own = mine;
  }
  return mine;
}

__device__ unsigned by_blelloch(unsigned* sums, unsigned mine) {
  const unsigned k = threadIdx.x + 1;
  sums[threadIdx.x] = mine;
  unsigned d = 1;
  for (; d < blockDim.x; d *= 2) {
    __syncthreads();
    const unsigned right = 2 * d * k;
    if (right <= blockDim.x) sums[right - 1] += sums[right - d - 1];
  }
  for (d /= 4; d > 0; d /= 2) {
    __syncthreads();
    const unsigned right = 2 * d * k + d;
    if (right <= blockDim.x) sums[right - 1] += sums[right - d - 1];
  }
  __syncthreads();
  return sums[threadIdx.x];
}

__device__ unsigned by_warps(unsigned* sums, unsigned mine) {
  const auto warp = cg::tiled_partition<32>(cg::this_thread_block());
  const unsigned in_warp = cg::inclusive_scan(warp, mine);
  const unsigned number = warp.meta_group_rank();
  if (warp.thread_rank() == 31) sums[number] = in_warp;
  __syncthreads();
  if (number == 0) {
    const unsigned lane = warp.thread_rank();
    const unsigned of_warp = lane < warp.meta_group_size() ? sums[lane] : 0;
    sums[lane] = cg::exclusive_scan(warp, of_warp, cg::plus<unsigned>());
  }
  __syncthreads();
  return sums[number] + in_warp;
}

template <step kStep>
__global__ void scan_rows(const unsigned* values, unsigned* out, std::size_t length, kind mode) {
  __shared__ unsigned sums[2 * kMostThreads];
  __shared__ unsigned of_tile;
  unsigned carry = 0;
  for (std::size_t done = 0; done < length; done += blockDim.x) {
    const std::size_t i = done + threadIdx.x;
    const unsigned mine = i < length ? values[blockIdx.x * length + i] : 0;
    unsigned sum = 0;
    if constexpr (kStep == step::hillis_steele) sum = by_hillis_steele(sums, mine);
    if constexpr (kStep == step::blelloch) sum = by_blelloch(sums, mine);
    if constexpr (kStep == step::warps) sum = by_warps(sums, mine);
    if (i < length)
      out[blockIdx.x * length + i] = carry + (mode == kind::exclusive ? sum - mine : sum);
    if (threadIdx.x + 1 == blockDim.x) of_tile = sum;
    __syncthreads();
    carry += of_tile;
    __syncthreads();
  }
}

}  // namespace

result scan(step version, kind mode, std::span<const std::uint32_t> values, std::size_t row_length,
            unsigned threads) {
  const unsigned rows = rows_of(values.size(), row_length, threads);
  result done;
  if (rows == 0) return done;
  auto* kernel = scan_rows<step::hillis_steele>;
  if (version == step::blelloch) kernel = scan_rows<step::blelloch>;
  if (version == step::warps) kernel = scan_rows<step::warps>;
  device_buffer<unsigned> memory(values);  // the results replace the values
  done.kernel_ms = time_kernel(
      [&] { kernel<<<rows, threads>>>(memory.data(), memory.data(), row_length, mode); },
      [&] { memory.copy_from(values); });
  done.values = memory.to_vector();
  return done;
}

}  // namespace lab::block_scan
