// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// cuda::atomic_ref counts, with the narrowest scope that is enough; the last 16 bytes are loaded
// whole; each block has one contiguous part of the bytes, except in lane_copies.

#include <cuda_runtime.h>

#include <cuda/atomic>

#include "given.hpp"

namespace lab::histogram {
namespace {

using counter = unsigned long long;
constexpr unsigned kLanes = 32;

template <cuda::thread_scope kScope, class Number>
__device__ void add(Number& to, Number amount) {
  cuda::atomic_ref<Number, kScope>(to).fetch_add(amount, cuda::memory_order_relaxed);
}

__global__ void global_atomics(const std::uint8_t* bytes, std::size_t n, counter* count) {
  const std::size_t part = (n + gridDim.x - 1) / gridDim.x;
  const std::size_t end = min(n, (blockIdx.x + 1) * part);
  for (std::size_t i = blockIdx.x * part + threadIdx.x; i < end; i += blockDim.x)
    add<cuda::thread_scope_device>(count[bytes[i]], counter{1});
}

__global__ void shared_atomics(const std::uint8_t* bytes, std::size_t n, counter* count) {
  __shared__ unsigned of_block[kBins];
  for (unsigned bin = threadIdx.x; bin < kBins; bin += blockDim.x) of_block[bin] = 0;
  __syncthreads();
  const std::size_t part = (n + gridDim.x - 1) / gridDim.x;
  const std::size_t end = min(n, (blockIdx.x + 1) * part);
  for (std::size_t i = blockIdx.x * part + threadIdx.x; i < end; i += blockDim.x)
    add<cuda::thread_scope_block>(of_block[bytes[i]], 1U);
  __syncthreads();
  for (unsigned bin = threadIdx.x; bin < kBins; bin += blockDim.x)
    if (of_block[bin] != 0) add<cuda::thread_scope_device>(count[bin], counter{of_block[bin]});
}

/// Requires memory whose size is a multiple of 16 bytes.
__global__ void lane_copies(const std::uint8_t* bytes, std::size_t n, counter* count) {
  __shared__ unsigned copies[kBins][kLanes];
  for (unsigned i = threadIdx.x; i < kBins * kLanes; i += blockDim.x) (&copies[0][0])[i] = 0;
  __syncthreads();
  const unsigned lane = threadIdx.x % kLanes;
  const std::size_t stride = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; 16 * i < n;
       i += stride) {
    const uint4 loaded = reinterpret_cast<const uint4*>(bytes)[i];
    const unsigned words[] = {loaded.x, loaded.y, loaded.z, loaded.w};
    const auto there = static_cast<unsigned>(min(n - 16 * i, std::size_t{16}));
    for (unsigned k = 0; k < there; ++k)
      add<cuda::thread_scope_block>(copies[words[k / 4] >> (k % 4 * 8) & 0xFF][lane], 1U);
  }
  __syncthreads();
  for (unsigned bin = threadIdx.x; bin < kBins; bin += blockDim.x) {
    counter sum = 0;
    for (unsigned k = 0; k < kLanes; ++k) sum += copies[bin][(k + bin) % kLanes];
    add<cuda::thread_scope_device>(count[bin], sum);
  }
}

}  // namespace

result count(step version, std::span<const std::uint8_t> bytes, unsigned threads) {
  result out{std::vector<std::uint64_t>(kBins)};
  if (version == step::cpu) {
    const host_timer timer;
    for (const std::uint8_t byte : bytes) ++out.count[byte];
    out.kernel_ms = static_cast<float>(timer.milliseconds());
    return out;
  }
  const unsigned size = block_size(threads, 128);
  const std::size_t n = bytes.size();
  if (n == 0) return out;
  constexpr decltype(&lane_copies) kKernels[] = {global_atomics, shared_atomics, lane_copies};
  const auto kernel = kKernels[static_cast<std::size_t>(version) - 1];
  const std::size_t most = 4 * device_limit(cudaDevAttrMultiProcessorCount);
  const auto blocks = static_cast<unsigned>(std::min(most, (n + size - 1) / size));

  device_buffer<std::uint8_t> device_bytes((n + 15) / 16 * 16);
  CUDA_CHECK(cudaMemcpy(device_bytes.data(), bytes.data(), n, cudaMemcpyHostToDevice));
  device_buffer<counter> device_count(kBins);
  out.kernel_ms = time_kernel([&] {
    CUDA_CHECK(cudaMemsetAsync(device_count.data(), 0, device_count.size_bytes(), nullptr));
    kernel<<<blocks, size>>>(device_bytes.data(), n, device_count.data());
  });
  const std::vector<counter> counted = device_count.to_vector();
  out.count.assign(counted.begin(), counted.end());
  return out;
}

}  // namespace lab::histogram
