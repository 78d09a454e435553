// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Differs from the solution: lanes of a warp that have the same byte agree on one of them, which
// adds for all (global_atomics, shared_atomics); shared memory is dynamic; in lane_copies the lanes
// of a warp add up a bin by shuffles.

#include <cuda_runtime.h>

#include "given.hpp"

namespace lab::histogram {
namespace {

using counter = unsigned long long;

constexpr unsigned kLanes = 32;

/// Calls add(byte, how many) once for each value that the active lanes have.
template <class Add>
__device__ void for_each_value(unsigned byte, const Add& add) {
  const unsigned same = __match_any_sync(__activemask(), byte);
  const unsigned lane = threadIdx.x % kLanes;
  if (static_cast<unsigned>(__ffs(static_cast<int>(same))) == lane + 1)
    add(byte, static_cast<unsigned>(__popc(same)));
}

__global__ void global_atomics(const std::uint8_t* bytes, std::size_t n, counter* count) {
  const std::size_t stride = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += stride)
    for_each_value(bytes[i], [&](unsigned byte, unsigned how_many) {
      atomicAdd(&count[byte], counter{how_many});
    });
}

__global__ void shared_atomics(const std::uint8_t* bytes, std::size_t n, counter* count) {
  extern __shared__ unsigned block_histogram[];
  for (unsigned bin = threadIdx.x; bin < kBins; bin += blockDim.x) block_histogram[bin] = 0;
  __syncthreads();
  const std::size_t stride = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += stride)
    for_each_value(bytes[i], [&](unsigned byte, unsigned how_many) {
      atomicAdd(&block_histogram[byte], how_many);
    });
  __syncthreads();
  for (unsigned bin = threadIdx.x; bin < kBins; bin += blockDim.x)
    atomicAdd(&count[bin], counter{block_histogram[bin]});
}

/// In blocks of whole warps the lanes add up a bin by shuffles; in others each thread adds up its
/// own bins.
__global__ void lane_copies(const std::uint8_t* bytes, std::size_t n, counter* count) {
  extern __shared__ unsigned copies[];  // [bin][lane]
  for (unsigned i = threadIdx.x; i < kBins * kLanes; i += blockDim.x) copies[i] = 0;
  __syncthreads();
  const unsigned lane = threadIdx.x % kLanes;
  const auto add = [&](unsigned byte) { atomicAdd(&copies[byte * kLanes + lane], 1U); };
  const std::size_t thread = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  const std::size_t threads = std::size_t{gridDim.x} * blockDim.x;
  const auto* const from = reinterpret_cast<const uint4*>(bytes);
  for (std::size_t i = thread; 16 * i < n; i += threads) {
    if (16 * i + 16 > n) {  // this load would go beyond the end
      for (std::size_t k = 16 * i; k < n; ++k) add(bytes[k]);
      continue;
    }
    const uint4 four = from[i];
    for (unsigned bit = 0; bit < 32; bit += 8) {
      add(four.x >> bit & 0xFF);
      add(four.y >> bit & 0xFF);
      add(four.z >> bit & 0xFF);
      add(four.w >> bit & 0xFF);
    }
  }
  __syncthreads();
  if (blockDim.x % kLanes == 0) {
    for (unsigned bin = threadIdx.x / kLanes; bin < kBins; bin += blockDim.x / kLanes) {
      unsigned sum = copies[bin * kLanes + lane];
      for (unsigned other = kLanes / 2; other > 0; other /= 2)
        sum += __shfl_down_sync(0xFFFFFFFF, sum, other);
      if (lane == 0) atomicAdd(&count[bin], counter{sum});
    }
  } else {
    for (unsigned bin = threadIdx.x; bin < kBins; bin += blockDim.x) {
      counter sum = 0;
      for (unsigned i = 0; i < kLanes; ++i) sum += copies[bin * kLanes + (i + bin) % kLanes];
      atomicAdd(&count[bin], sum);
    }
  }
}

}  // namespace

result count(step version, std::span<const std::uint8_t> bytes, unsigned threads) {
  result out{std::vector<std::uint64_t>(kBins)};
  if (version == step::cpu) {
    const host_timer timer;
    for (std::size_t i = bytes.size(); i > 0; --i) out.count[bytes[i - 1]] += 1;
    out.kernel_ms = static_cast<float>(timer.milliseconds());
    return out;
  }
  const grid g = grid_of_the_book(threads);
  if (bytes.empty()) return out;

  const device_buffer device_bytes(bytes);
  device_buffer<counter> device_count(kBins);
  out.kernel_ms = time_kernel([&] {
    CUDA_CHECK(cudaMemset(device_count.data(), 0, kBins * sizeof(counter)));
    if (version == step::global_atomics)
      global_atomics<<<g.blocks, g.threads>>>(device_bytes.data(), bytes.size(),
                                              device_count.data());
    else if (version == step::shared_atomics)
      shared_atomics<<<g.blocks, g.threads, kBins * sizeof(unsigned)>>>(
          device_bytes.data(), bytes.size(), device_count.data());
    else
      lane_copies<<<g.blocks, g.threads, kBins * kLanes * sizeof(unsigned)>>>(
          device_bytes.data(), bytes.size(), device_count.data());
  });
  const std::vector<counter> counted = device_count.to_vector();
  out.count.assign(counted.begin(), counted.end());
  return out;
}

}  // namespace lab::histogram
