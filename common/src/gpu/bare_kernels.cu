// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

#include <cuda_runtime.h>

#include <cstddef>
#include <limits>

#include "lab/bare_kernels.hpp"
#include "lab/cuda_check.hpp"
#include "lab/device_buffer.hpp"
#include "lab/time_kernel.hpp"

namespace lab {
namespace {

constexpr unsigned kThreads = 256;
constexpr unsigned kInFlight = 4;  // loads of a thread
constexpr int kRuns = 20;

unsigned blocks_for(std::size_t items, unsigned per_block) {
  return static_cast<unsigned>((items + per_block - 1) / per_block);
}

/// `out` is written if the data are not what they are: else the compiler would leave the loads out.
__global__ void read(const uint4* data, std::size_t n, unsigned* out) {
  const std::size_t first = std::size_t{blockIdx.x} * kThreads * kInFlight + threadIdx.x;
  unsigned found = 0;
#pragma unroll
  for (unsigned k = 0; k < kInFlight; ++k) {
    const std::size_t i = first + k * kThreads;
    if (i < n) {
      const uint4 v = data[i];
      found |= v.x | v.y | v.z | v.w;
    }
  }
  if (found != 0) *out = found;
}

__global__ void add(const float4* a, const float4* b, float4* sum, std::size_t n) {
  const std::size_t i = std::size_t{blockIdx.x} * kThreads + threadIdx.x;
  if (i < n) {
    const float4 x = a[i], y = b[i];
    sum[i] = make_float4(x.x + y.x, x.y + y.y, x.z + y.z, x.w + y.w);
  }
}

}  // namespace

std::optional<float> reading_milliseconds(std::size_t bytes) {
  const std::size_t n = bytes / sizeof(uint4);
  if (n == 0 || n / (kThreads * kInFlight) >= std::numeric_limits<int>::max()) return std::nullopt;
  device_buffer<uint4> data(n);
  device_buffer<unsigned> out(1);
  CUDA_CHECK(cudaMemset(data.data(), 0, n * sizeof(uint4)));
  const repeated_timing samples(kRuns);
  return time_kernel(
      [&] { read<<<blocks_for(n, kThreads * kInFlight), kThreads>>>(data.data(), n, out.data()); });
}

std::optional<float> bare_add_milliseconds(std::size_t n) {
  const std::size_t quads = n / 4;
  if (quads == 0 || quads / kThreads >= std::numeric_limits<int>::max()) return std::nullopt;
  device_buffer<float4> a(quads), b(quads), sum(quads);
  CUDA_CHECK(cudaMemset(a.data(), 0, quads * sizeof(float4)));
  CUDA_CHECK(cudaMemset(b.data(), 0, quads * sizeof(float4)));
  const repeated_timing samples(kRuns);
  return time_kernel([&] {
    add<<<blocks_for(quads, kThreads), kThreads>>>(a.data(), b.data(), sum.data(), quads);
  });
}

}  // namespace lab
