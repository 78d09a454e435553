// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Differs from the solution: the copies of lane_copies lie one after the other, each a word longer
// than its counters, so that equal bins of two lanes are in two banks; one thread counts the last
// bytes. A kernel zeroes the counters, and grids are as large as the bytes need, up to a limit.

#include <cuda_runtime.h>

#include "given.hpp"

namespace lab::histogram {
namespace {

using counter = unsigned long long;

constexpr unsigned kLanes = 32;
constexpr unsigned kStride = kBins + 1;  // of the copies: the next one begins in the next bank

__global__ void zero(counter* count) {
  const unsigned bin = blockIdx.x * blockDim.x + threadIdx.x;
  if (bin < kBins) count[bin] = 0;
}

__global__ void global_atomics(const std::uint8_t* bytes, std::size_t n, counter* count) {
  std::size_t i = threadIdx.x + std::size_t{blockDim.x} * blockIdx.x;
  while (i < n) {
    atomicAdd(count + bytes[i], counter{1});
    i += std::size_t{blockDim.x} * gridDim.x;
  }
}

__global__ void shared_atomics(const std::uint8_t* bytes, std::size_t n, counter* count) {
  __shared__ unsigned block_histogram[kBins];
  for (unsigned bin = threadIdx.x; bin < kBins; bin += blockDim.x) block_histogram[bin] = 0;
  __syncthreads();
  // Each block has its own part of the bytes, which begins at `begin`.
  const std::size_t part = (n + gridDim.x - 1) / gridDim.x;
  const std::size_t begin = part * blockIdx.x;
  const std::size_t end = begin + part < n ? begin + part : n;
  for (std::size_t i = begin + threadIdx.x; i < end; i += blockDim.x)
    atomicInc(&block_histogram[bytes[i]], ~0U);
  __syncthreads();
  for (unsigned bin = threadIdx.x; bin < kBins; bin += blockDim.x)
    if (block_histogram[bin] != 0) atomicAdd(&count[bin], counter{block_histogram[bin]});
}

__global__ void lane_copies(const std::uint8_t* bytes, std::size_t n, counter* count) {
  __shared__ unsigned copies[kLanes * kStride];
  for (unsigned i = threadIdx.x; i < kLanes * kStride; i += blockDim.x) copies[i] = 0;
  __syncthreads();
  unsigned* const lane_histogram = copies + threadIdx.x % kLanes * kStride;
  const std::size_t first = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  const std::size_t stride = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t i = first; i < n / 16; i += stride) {
    const uint4 loaded = reinterpret_cast<const uint4*>(bytes)[i];
    for (unsigned word : {loaded.x, loaded.y, loaded.z, loaded.w})
      for (unsigned k = 0; k < 4; ++k, word >>= 8) atomicAdd(&lane_histogram[word % 256], 1U);
  }
  if (first == 0)
    for (std::size_t i = n - n % 16; i < n; ++i) atomicAdd(&lane_histogram[bytes[i]], 1U);
  __syncthreads();
  for (unsigned bin = threadIdx.x; bin < kBins; bin += blockDim.x) {
    counter sum = 0;
    for (unsigned lane = 0; lane < kLanes; ++lane) sum += copies[lane * kStride + bin];
    if (sum != 0) atomicAdd(&count[bin], sum);
  }
}

}  // namespace

result count(step version, std::span<const std::uint8_t> bytes, unsigned threads) {
  result out{std::vector<std::uint64_t>(kBins)};
  const std::size_t n = bytes.size();
  if (version == step::cpu) {
    const host_timer timer;
    std::ranges::for_each(bytes, [&](std::uint8_t byte) { ++out.count[byte]; });
    out.kernel_ms = static_cast<float>(timer.milliseconds());
    return out;
  }
  const unsigned size = block_size(threads, 256);
  if (n == 0) return out;
  const std::size_t at_once = std::size_t{size} * (version == step::lane_copies ? 16 : 1);
  const std::size_t most = 4 * std::size_t{device_limit(cudaDevAttrMultiProcessorCount)};
  const auto blocks = static_cast<unsigned>(std::min((n + at_once - 1) / at_once, most));
  auto* const kernel = version == step::global_atomics   ? global_atomics
                       : version == step::shared_atomics ? shared_atomics
                                                         : lane_copies;
  const device_buffer device_bytes(bytes);
  device_buffer<counter> device_count(kBins);
  out.kernel_ms = time_kernel([&] {
    zero<<<kBins / 64, 64>>>(device_count.data());
    CUDA_CHECK(cudaGetLastError());
    kernel<<<blocks, size>>>(device_bytes.data(), n, device_count.data());
  });
  const std::vector<counter> counted = device_count.to_vector();
  std::ranges::copy(counted, out.count.begin());
  return out;
}

}  // namespace lab::histogram
