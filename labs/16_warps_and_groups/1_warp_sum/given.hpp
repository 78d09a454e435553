// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 16.1 warp_sum: what warp_sum.cu starts from. There is nothing to do in here.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "lab/cuda_check.hpp"
#include "lab/device_buffer.hpp"
#include "lab/errors.hpp"
#include "lab/launch_limits.hpp"
#include "lab/refuse_if.hpp"
#include "lab/time_kernel.hpp"
#include "warp_sum.hpp"

namespace lab::warp_sum {

constexpr unsigned kLanes = 32;  // of a warp
constexpr unsigned kAllLanes = 0xFFFF'FFFF;

/// How many blocks of `threads` threads n elements need. Refuses what the contract refuses.
inline unsigned blocks_for(std::size_t n, unsigned threads) {
  refuse_if(threads == 0, "warp_sum: blocks of 0 threads were asked for; take 1 or more");
  require_at_most(cudaDevAttrMaxThreadsPerBlock, threads, "threads in a block");
  const std::size_t blocks = (n + threads - 1) / threads;
  require_at_most(cudaDevAttrMaxGridDimX, blocks, "blocks");
  return static_cast<unsigned>(blocks);
}

/// As many blocks as the device runs at once, but not more than n elements need.
inline unsigned blocks_at_once(std::size_t n, unsigned threads) {
  const std::size_t at_once =
      std::size_t{device_limit(cudaDevAttrMultiProcessorCount)} *
      std::max(1U, device_limit(cudaDevAttrMaxThreadsPerMultiProcessor) / threads);
  return static_cast<unsigned>(std::min((n + threads - 1) / threads, at_once));
}

/// The sum of this thread's share of the values, in strides of the grid: chapters 03 and 05. A load
/// brings four values, and four loads are under way at the same time.
__device__ inline unsigned sum_of_thread(const unsigned* values, std::size_t n) {
  constexpr unsigned kInFlight = 4;
  const std::size_t thread = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  const std::size_t stride = std::size_t{gridDim.x} * blockDim.x;
  const auto* fours = reinterpret_cast<const uint4*>(values);  // as cudaMalloc aligns them
  const std::size_t n_fours = n / 4;

  unsigned mine = 0;
  std::size_t i = thread;
  for (; i + (kInFlight - 1) * stride < n_fours; i += kInFlight * stride) {
    uint4 loaded[kInFlight];
#pragma unroll
    for (unsigned k = 0; k < kInFlight; ++k) loaded[k] = fours[i + k * stride];
#pragma unroll
    for (unsigned k = 0; k < kInFlight; ++k)
      mine += loaded[k].x + loaded[k].y + loaded[k].z + loaded[k].w;
  }
  for (; i < n_fours; i += stride) mine += fours[i].x + fours[i].y + fours[i].z + fours[i].w;
  for (i = 4 * n_fours + thread; i < n; i += stride) mine += values[i];  // the last one to three
  return mine;
}

/// What a launch is for: what each lane gets, in `sums`, or the sum of all, added to *total. The
/// other pointer is null.
struct job {
  unsigned blocks, threads;
  const unsigned* values;
  std::size_t n;
  unsigned *sums, *total;
};

/// warp_sums(), where `launch` launches the kernel for a job.
template <class Launch>
std::vector<std::uint32_t> host_part_of_warp_sums(const Launch& launch,
                                                  std::span<const std::uint32_t> values,
                                                  unsigned threads) {
  const unsigned blocks = blocks_for(values.size(), threads);
  if (blocks == 0) return {};
  const device_buffer device_values(values);
  device_buffer<unsigned> sums(values.size());
  launch(job{blocks, threads, device_values.data(), values.size(), sums.data(), nullptr});
  CUDA_CHECK(cudaGetLastError());
  return sums.to_vector();
}

/// sum(), likewise.
template <class Launch>
result host_part_of_sum(const Launch& launch, std::span<const std::uint32_t> values,
                        unsigned threads) {
  if (blocks_for(values.size(), threads) == 0) return {};
  const device_buffer device_values(values);
  device_buffer<unsigned> total(1);
  const job j{.blocks = blocks_at_once(values.size(), threads),
              .threads = threads,
              .values = device_values.data(),
              .n = values.size(),
              .sums = nullptr,
              .total = total.data()};
  const float kernel_ms = time_kernel(
      [&] { launch(j); }, [&] { CUDA_CHECK(cudaMemset(total.data(), 0, total.size_bytes())); });
  return {total.to_vector().front(), kernel_ms};
}

}  // namespace lab::warp_sum
