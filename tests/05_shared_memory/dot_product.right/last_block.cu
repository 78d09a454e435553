// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Differs from the solution: the last block to finish adds up the sums of all blocks, so that one
// number is copied back. The tree in shared memory begins with neighbours, warps use
// __shfl_xor_sync, and a thread adds four products to one sum before its next load.

#include <cuda_runtime.h>

#include "given.hpp"

namespace lab::dot_product {
namespace {

constexpr unsigned kThreads = 256;
constexpr unsigned kMaxBlocks = 32;
constexpr unsigned kWarp = 32;
constexpr unsigned kAllLanes = 0xFFFFFFFF;

__device__ float sum_of_products(const float* a, const float* b, std::size_t n) {
  const std::size_t threads = std::size_t{gridDim.x} * blockDim.x;
  const std::size_t first = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  float sum = 0;
  for (std::size_t i = first; i < n; i += 4 * threads) {
    float four = a[i] * b[i];
    for (std::size_t k = i + threads; k < n && k < i + 4 * threads; k += threads)
      four += a[k] * b[k];
    sum += four;
  }
  return sum;
}

__device__ float sum_of_warp(float value) {
  for (unsigned other = 1; other < kWarp; other *= 2)
    value += __shfl_xor_sync(kAllLanes, value, static_cast<int>(other));
  return value;
}

/// All lanes of the first warp of each block call this. It stores the block's sum. The last block
/// to do so also adds up the sums of all blocks.
__device__ void finish(float sum, float* partial, unsigned* finished) {
  const unsigned lane = threadIdx.x;
  unsigned before = 0;
  if (lane == 0) {
    partial[1 + blockIdx.x] = sum;
    __threadfence();  // the sum is visible before this block counts as finished
    before = atomicAdd(finished, 1U);
    __threadfence();  // the sums of the blocks that have finished are visible
  }
  __syncwarp();  // … by all lanes: a shuffle orders no memory
  before = __shfl_sync(kAllLanes, before, 0);
  if (before != gridDim.x - 1) return;
  float thread_sum = 0;
  for (unsigned block = lane; block < gridDim.x; block += kWarp)
    thread_sum += __ldcg(&partial[1 + block]);
  const float all = sum_of_warp(thread_sum);
  if (lane == 0) partial[0] = all;
}

__device__ void tree(float* cache, float thread_sum, float* partial, unsigned* finished) {
  cache[threadIdx.x] = thread_sum;
  for (unsigned apart = 1; apart < blockDim.x; apart *= 2) {
    __syncthreads();
    const unsigned i = 2 * apart * threadIdx.x;
    if (i < blockDim.x) cache[i] += cache[i + apart];
  }
  __syncthreads();
  if (threadIdx.x < kWarp) finish(cache[0], partial, finished);
}

__global__ void static_shared(const float* a, const float* b, float* partial, unsigned* finished,
                              std::size_t n) {
  __shared__ float cache[kThreads];
  tree(cache, sum_of_products(a, b, n), partial, finished);
}

__global__ void dynamic_shared(const float* a, const float* b, float* partial, unsigned* finished,
                               std::size_t n) {
  extern __shared__ float dynamic_cache[];
  tree(dynamic_cache, sum_of_products(a, b, n), partial, finished);
}

__device__ void by_shuffles(float of_thread, float* partial, unsigned* finished) {
  __shared__ float of_warps[kWarp];
  const float warp_sum = sum_of_warp(of_thread);
  if (threadIdx.x % kWarp == 0) of_warps[threadIdx.x / kWarp] = warp_sum;
  __syncthreads();
  if (threadIdx.x >= kWarp) return;
  const bool there = threadIdx.x < blockDim.x / kWarp;
  finish(sum_of_warp(there ? of_warps[threadIdx.x] : 0), partial, finished);
}

__global__ void warp_shuffle(const float* a, const float* b, float* partial, unsigned* finished,
                             std::size_t n) {
  by_shuffles(sum_of_products(a, b, n), partial, finished);
}

/// The first thread also takes the last n % 4 elements, and begins with them.
__global__ void vectorized(const float* a, const float* b, float* partial, unsigned* finished,
                           std::size_t n) {
  const std::size_t first = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  float sum = 0;
  if (first == 0)
    for (std::size_t i = n - n % 4; i < n; ++i) sum += a[i] * b[i];
  for (std::size_t i = first; i < n / 4; i += std::size_t{gridDim.x} * blockDim.x) {
    const float4 x = reinterpret_cast<const float4*>(a)[i];
    const float4 y = reinterpret_cast<const float4*>(b)[i];
    sum = fmaf(x.x, y.x, fmaf(x.y, y.y, fmaf(x.z, y.z, fmaf(x.w, y.w, sum))));
  }
  by_shuffles(sum, partial, finished);
}

}  // namespace

result dot(step version, std::span<const float> a, std::span<const float> b) {
  require_good(a, b);
  const std::size_t n = a.size();
  if (n == 0) return {};

  auto* kernel = version == step::static_shared    ? static_shared
                 : version == step::dynamic_shared ? dynamic_shared
                 : version == step::warp_shuffle   ? warp_shuffle
                                                   : vectorized;
  unsigned threads = kThreads;
  std::size_t most = kMaxBlocks, shared_bytes = 0;
  if (version != step::static_shared) {
    threads = 128;
    if (version == step::dynamic_shared) shared_bytes = threads * sizeof(float);
    int of_processor = 0;
    CUDA_CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(
        &of_processor, kernel, static_cast<int>(threads), shared_bytes));
    most = std::size_t{device_limit(cudaDevAttrMultiProcessorCount)} *
           static_cast<std::size_t>(of_processor);
  }
  const unsigned blocks = blocks_for(n, threads, most);

  const device_buffer device_a(a);
  const device_buffer device_b(b);
  device_buffer<float> partial(1 + blocks);
  device_buffer<unsigned> finished(1);
  const float kernel_ms = time_kernel(
      [&] {
        kernel<<<blocks, threads, shared_bytes>>>(device_a.data(), device_b.data(), partial.data(),
                                                  finished.data(), n);
      },
      [&] { CUDA_CHECK(cudaMemset(finished.data(), 0, sizeof(unsigned))); });
  float sum = 0;
  CUDA_CHECK(cudaMemcpy(&sum, partial.data(), sizeof sum, cudaMemcpyDeviceToHost));
  return {sum, kernel_ms};
}

}  // namespace lab::dot_product
