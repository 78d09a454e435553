// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// A block takes neighbouring elements, one warp adds up what the block has in shared memory, and a
// second kernel of one block adds up the sums of the blocks.

#include <cuda_runtime.h>

#include "given.hpp"

namespace lab::dot_product {
namespace {

constexpr unsigned kWarp = 32;
constexpr unsigned kAllLanes = 0xFFFFFFFF;

/// The sum of this thread's products. The block has the elements from begin to end - 1.
__device__ float products(const float* a, const float* b, std::size_t n) {
  const std::size_t share = (n + gridDim.x - 1) / gridDim.x, begin = blockIdx.x * share;
  const std::size_t end = min(n, begin + share);
  float even = 0, odd = 0;
  for (std::size_t i = begin + threadIdx.x; i < end; i += 2 * blockDim.x) {
    even = fmaf(a[i], b[i], even);
    const std::size_t next = i + blockDim.x;
    if (next < end) odd = fmaf(a[next], b[next], odd);
  }
  return even + odd;
}

/// Lane k adds up every 32nd element from k on, and thread 0 then adds up the sums of the lanes.
__device__ void gather(float* cache, float value, float* to) {
  cache[threadIdx.x] = value;
  __syncthreads();
  if (threadIdx.x >= kWarp) return;
  float sum = 0;
  for (unsigned i = threadIdx.x; i < blockDim.x; i += kWarp) sum += cache[i];
  cache[threadIdx.x] = sum;
  __syncwarp();
  if (threadIdx.x != 0) return;
  for (unsigned i = 1; i < kWarp; ++i) sum += cache[i];
  *to = sum;
}

__global__ void static_shared(const float* a, const float* b, float* partial, std::size_t n) {
  __shared__ float cache[256];
  gather(cache, products(a, b, n), &partial[blockIdx.x]);
}

__global__ void dynamic_shared(const float* a, const float* b, float* partial, std::size_t n) {
  extern __shared__ float as_launched[];
  gather(as_launched, products(a, b, n), &partial[blockIdx.x]);
}

/// The same, four neighbours at a time: a share begins at a multiple of four.
__device__ float products_of_fours(const float* a, const float* b, std::size_t n) {
  const std::size_t share = ((n + gridDim.x - 1) / gridDim.x + 3) / 4 * 4;
  const std::size_t begin = blockIdx.x * share, end = min(n, begin + share);
  float sum = 0;
  for (std::size_t i = begin + 4 * threadIdx.x; i < end; i += 4 * blockDim.x) {
    if (i + 4 > end) {
      for (std::size_t k = i; k < end; ++k) sum = fmaf(a[k], b[k], sum);
      continue;
    }
    const auto x = *reinterpret_cast<const float4*>(&a[i]);
    const auto y = *reinterpret_cast<const float4*>(&b[i]);
    sum += (x.x * y.x + x.z * y.z) + (x.y * y.y + x.w * y.w);
  }
  return sum;
}

__device__ void shuffle(float thread_sum, float* partial) {
  __shared__ float of_warps[kWarp];
  const unsigned warps = blockDim.x / kWarp;
  const auto sum_of_lanes = [](float x) {
    for (int bit = 1; bit < 32; bit <<= 1) x += __shfl_xor_sync(kAllLanes, x, bit);
    return x;
  };
  const float of_warp = sum_of_lanes(thread_sum);
  if (threadIdx.x % kWarp == kWarp - 1) of_warps[threadIdx.x / kWarp] = of_warp;
  __syncthreads();
  if (threadIdx.x / kWarp == warps - 1) {  // the last warp
    const unsigned lane = threadIdx.x % kWarp;
    const float all = sum_of_lanes(lane < warps ? of_warps[lane] : 0);
    if (lane == 0) partial[blockIdx.x] = all;
  }
}

__global__ void warp_shuffle(const float* a, const float* b, float* partial, std::size_t n) {
  shuffle(products(a, b, n), partial);
}

__global__ void vectorized(const float* a, const float* b, float* partial, std::size_t n) {
  shuffle(products_of_fours(a, b, n), partial);
}

__global__ void add_up(const float* partial, unsigned blocks, float* sum) {
  __shared__ float cache[256];
  float thread_sum = 0;
  for (unsigned i = threadIdx.x; i < blocks; i += blockDim.x) thread_sum += partial[i];
  gather(cache, thread_sum, sum);
}

}  // namespace

result dot(step version, std::span<const float> a, std::span<const float> b) {
  require_good(a, b);
  const std::size_t n = a.size();
  if (n == 0) return {};
  constexpr kernel_of_dot kKernels[] = {static_shared, dynamic_shared, warp_shuffle, vectorized};
  const kernel_of_dot kernel = kKernels[static_cast<std::size_t>(version)];
  const bool fixed = version == step::static_shared;
  unsigned threads = fixed ? 256 : 64;
  while (!fixed && threads < 512 && n >= 256 * std::size_t{threads}) threads *= 2;
  const std::size_t shared_bytes = version == step::dynamic_shared ? threads * sizeof(float) : 0;
  int resident = 0;
  CUDA_CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(
      &resident, kernel, static_cast<int>(threads), shared_bytes));
  const std::size_t fill =
      static_cast<std::size_t>(resident) * device_limit(cudaDevAttrMultiProcessorCount);
  const unsigned blocks = blocks_for(n, threads, fixed ? 32 : fill);

  device_buffer<float> device_a(n), device_b(n), partial(blocks), sum(1);
  device_a.copy_from(a);
  device_b.copy_from(b);
  result out;
  out.kernel_ms = time_kernel([&] {
    kernel<<<blocks, threads, shared_bytes>>>(device_a.data(), device_b.data(), partial.data(), n);
    CUDA_CHECK(cudaGetLastError());
    add_up<<<1, 256>>>(partial.data(), blocks, sum.data());
  });
  sum.copy_to({&out.value, 1});
  return out;
}

}  // namespace lab::dot_product
