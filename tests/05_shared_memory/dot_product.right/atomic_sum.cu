// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Differs from the solution: blocks add their sums to one double by atomicAdd (to a float, 2^25 and
// many small sums would remain 2^25), warps are tiles of cooperative groups, and the tree stops
// when one warp is left, which continues with shuffles.

#include <cooperative_groups.h>
#include <cuda_runtime.h>

#include "given.hpp"

namespace lab::dot_product {
namespace {

namespace cg = cooperative_groups;
using warp_tile = cg::thread_block_tile<32>;

constexpr unsigned kThreads = 256;

__device__ float sum_of_products(const float* a, const float* b, std::size_t n) {
  const cg::grid_group grid = cg::this_grid();
  float sum = 0;
  for (std::size_t i = grid.thread_rank(); i < n; i += grid.size()) sum += a[i] * b[i];
  return sum;
}

__device__ float sum_of_warp(const warp_tile& warp, float value) {
  for (unsigned half = 16; half > 0; half /= 2) value += warp.shfl_down(value, half);
  return value;
}

__device__ void tree(float* cache, float thread_sum, double* sum) {
  const cg::thread_block block = cg::this_thread_block();
  const warp_tile warp = cg::tiled_partition<32>(block);
  const unsigned thread = block.thread_rank();
  cache[thread] = thread_sum;
  block.sync();
  for (unsigned half = block.size() / 2; half >= 32; half /= 2) {
    if (thread < half) cache[thread] += cache[thread + half];
    block.sync();
  }
  if (thread >= 32) return;
  const float of_block = sum_of_warp(warp, cache[thread]);
  if (thread == 0) atomicAdd(sum, double{of_block});
}

__global__ void static_shared(const float* a, const float* b, double* sum, std::size_t n) {
  __shared__ float cache[kThreads];
  tree(cache, sum_of_products(a, b, n), sum);
}

__global__ void dynamic_shared(const float* a, const float* b, double* sum, std::size_t n) {
  extern __shared__ float dynamic_cache[];
  tree(dynamic_cache, sum_of_products(a, b, n), sum);
}

/// As above, for arrays that begin at multiples of 16 bytes: a thread takes pairs of float4.
__device__ float sum_of_fours(const float* a, const float* b, std::size_t n) {
  const cg::grid_group grid = cg::this_grid();
  float sum = 0;
  for (std::size_t i = 4 * grid.thread_rank(); i < n; i += 4 * grid.size()) {
    if (i + 4 <= n) {
      const float4 x = *reinterpret_cast<const float4*>(a + i);
      const float4 y = *reinterpret_cast<const float4*>(b + i);
      sum += x.x * y.x + x.y * y.y + x.z * y.z + x.w * y.w;
    } else {
      for (std::size_t k = i; k < n; ++k) sum += a[k] * b[k];
    }
  }
  return sum;
}

template <bool kVectorized>
__global__ void warp_shuffle(const float* a, const float* b, double* sum, std::size_t n) {
  const cg::thread_block block = cg::this_thread_block();
  const warp_tile warp = cg::tiled_partition<32>(block);
  __shared__ float of_block;
  if (block.thread_rank() == 0) of_block = 0;
  const float of_warp =
      sum_of_warp(warp, kVectorized ? sum_of_fours(a, b, n) : sum_of_products(a, b, n));
  block.sync();  // of_block is 0
  if (warp.thread_rank() == 0) atomicAdd(&of_block, of_warp);
  block.sync();  // all warps have added
  if (block.thread_rank() == 0) atomicAdd(sum, double{of_block});
}

}  // namespace

result dot(step version, std::span<const float> a, std::span<const float> b) {
  require_good(a, b);
  if (a.empty()) return {};
  const device_buffer device_a(a), device_b(b);
  device_buffer<double> sum(1);

  const auto run = [&](auto* kernel, unsigned threads, std::size_t most, std::size_t shared_bytes) {
    const unsigned blocks = blocks_for(a.size(), threads, most);
    return time_kernel(
        [&] {
          kernel<<<blocks, threads, shared_bytes>>>(device_a.data(), device_b.data(), sum.data(),
                                                    a.size());
        },
        [&] { CUDA_CHECK(cudaMemset(sum.data(), 0, sizeof(double))); });
  };
  // As many blocks of 256 threads as the limit on resident threads allows: these kernels need
  // little else.
  const std::size_t resident = std::size_t{device_limit(cudaDevAttrMultiProcessorCount)} *
                               device_limit(cudaDevAttrMaxThreadsPerMultiProcessor) / kThreads;
  float kernel_ms = 0;
  switch (version) {
    case step::static_shared:
      kernel_ms = run(static_shared, kThreads, 32, 0);
      break;
    case step::dynamic_shared:
      kernel_ms = run(dynamic_shared, kThreads, resident, kThreads * sizeof(float));
      break;
    case step::warp_shuffle:
      kernel_ms = run(warp_shuffle<false>, kThreads, resident, 0);
      break;
    case step::vectorized:
      kernel_ms = run(warp_shuffle<true>, kThreads, resident, 0);
      break;
  }
  return {static_cast<float>(sum.to_vector().front()), kernel_ms};
}

}  // namespace lab::dot_product
