// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Differs from the solution: the last block to finish joins what all blocks have, and the largest
// element stays on the device, where each thread reads it; it is found by atomicMax.

#include <cuda_runtime.h>

#include "given.hpp"

namespace lab::euclidean_norm {
namespace {

constexpr unsigned kWide = 512, kMostWide = 96;

struct scale_and_sum {
  float scale = 0, sum = 0;
};

__device__ void join(scale_and_sum& a, scale_and_sum b) {
  if (isnan(a.scale) || b.scale == 0) return;
  if (isnan(b.scale) || a.scale == 0) {
    a = b;
    return;
  }
  if (a.scale == b.scale) {  // two infinities, too
    a.sum += b.sum;
  } else if (a.scale > b.scale) {
    const float quotient = b.scale / a.scale;
    a.sum += b.sum * quotient * quotient;
  } else {
    const float quotient = a.scale / b.scale;
    a.sum = b.sum + a.sum * quotient * quotient;
    a.scale = b.scale;
  }
}

struct state {
  unsigned largest;  ///< the bits of the largest |x[i]|
  unsigned finished;
  double total;  ///< of squares
  double norm;
};

/// Whether this is the last block of the grid to come here. All threads of the block call it.
__device__ bool is_last(state* all) {
  __shared__ bool last;
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) last = atomicAdd(&all->finished, 1U) + 1 == gridDim.x;
  __syncthreads();
  if (last) __threadfence();
  return last;
}

__global__ void __launch_bounds__(kWide) find_maximum(const float* x, std::size_t n, state* all) {
  __shared__ unsigned of_block;
  if (threadIdx.x == 0) of_block = 0;
  __syncthreads();
  unsigned mine = 0;
  for (std::size_t i = std::size_t{blockIdx.x} * kWide + threadIdx.x; i < n;
       i += std::size_t{gridDim.x} * kWide)
    mine = max(mine, __float_as_uint(fabsf(x[i])));
  atomicMax(&of_block, mine);
  __syncthreads();
  if (threadIdx.x == 0) atomicMax(&all->largest, of_block);
}

__global__ void __launch_bounds__(kWide)
    add_squares(const float* x, std::size_t n, bool scaled, float* partial, state* all) {
  __shared__ float cache[kWide];
  const float divisor = scaled ? __uint_as_float(all->largest) : 1.0F;
  float sum = 0;
  for (std::size_t i = std::size_t{blockIdx.x} * kWide + threadIdx.x; i < n;
       i += std::size_t{gridDim.x} * kWide) {
    const float quotient = x[i] / divisor;
    sum = fmaf(quotient, quotient, sum);
  }
  cache[threadIdx.x] = sum;
  __syncthreads();
  for (unsigned distance = 1; distance < kWide; distance *= 2) {
    if (threadIdx.x % (2 * distance) == 0) cache[threadIdx.x] += cache[threadIdx.x + distance];
    __syncthreads();
  }
  if (threadIdx.x == 0) partial[blockIdx.x] = cache[0];
  if (!is_last(all)) return;
  if (threadIdx.x == 0) {
    double total = 0;
    for (unsigned block = 0; block < gridDim.x; ++block)
      total += static_cast<double>(static_cast<volatile float*>(partial)[block]);
    all->total = total;
    all->norm = static_cast<double>(divisor) * sqrt(total);
  }
}

__global__ void __launch_bounds__(kWide)
    pass_once(const float* x, std::size_t n, scale_and_sum* partial, state* all) {
  __shared__ float scales[kWide], sums[kWide];
  scale_and_sum mine;
  for (std::size_t i = std::size_t{blockIdx.x} * kWide + threadIdx.x; i < n;
       i += std::size_t{gridDim.x} * kWide)
    join(mine, scale_and_sum{fabsf(x[i]), 1});
  scales[threadIdx.x] = mine.scale;
  sums[threadIdx.x] = mine.sum;
  __syncthreads();
  for (unsigned half = kWide / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) {
      join(mine, scale_and_sum{scales[threadIdx.x + half], sums[threadIdx.x + half]});
      scales[threadIdx.x] = mine.scale;
      sums[threadIdx.x] = mine.sum;
    }
    __syncthreads();
  }
  if (threadIdx.x == 0) partial[blockIdx.x] = mine;
  if (!is_last(all)) return;
  if (threadIdx.x == 0) {
    double total = 0;
    for (unsigned block = 0; block < gridDim.x; ++block) {
      const double scale = static_cast<double>(partial[block].scale);
      if (scale != 0) total += scale * scale * static_cast<double>(partial[block].sum);
    }
    all->norm = sqrt(total);
  }
}

}  // namespace

result norm(step version, std::span<const float> x) {
  if (x.empty()) return {};
  const std::size_t n = x.size();
  const auto blocks =
      static_cast<unsigned>(std::min<std::size_t>((n + kWide - 1) / kWide, kMostWide));
  const device_buffer<float> numbers(x);
  device_buffer<scale_and_sum> pairs(blocks);
  device_buffer<float> sums(blocks);
  device_buffer<state> all(1);

  result out;
  const auto reset = [&] { CUDA_CHECK(cudaMemsetAsync(all.data(), 0, sizeof(state))); };
  const auto launch = [&] {
    if (version == step::one_pass) {
      pass_once<<<blocks, kWide>>>(numbers.data(), n, pairs.data(), all.data());
      return;
    }
    const bool scaled = version == step::scaled_by_max;
    if (scaled) {
      find_maximum<<<blocks, kWide>>>(numbers.data(), n, all.data());
      CUDA_CHECK(cudaGetLastError());
    }
    add_squares<<<blocks, kWide>>>(numbers.data(), n, scaled, sums.data(), all.data());
  };
  out.kernel_ms = time_kernel(launch, reset);

  const state done = all.to_vector()[0];
  double value = done.norm;
  if (version == step::scaled_by_max) {
    float largest = 0;
    static_assert(sizeof largest == sizeof done.largest);
    std::copy_n(reinterpret_cast<const char*>(&done.largest), sizeof largest,
                reinterpret_cast<char*>(&largest));
    if (largest == 0 || !std::isfinite(largest)) value = static_cast<double>(largest);
  }
  out.value = static_cast<float>(value);
  return out;
}

}  // namespace lab::euclidean_norm
