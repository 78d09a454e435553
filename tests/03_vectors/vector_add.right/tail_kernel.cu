// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Differs from the solution: a second kernel of one block adds the last elements if n is not a
// multiple of four (vectorized), a thread of grid_stride walks from the end to the beginning, and
// the other kernels are one template.

#include <cuda_runtime.h>

#include "given.hpp"

namespace lab::vector_add {
namespace {

constexpr unsigned kThreads = 256;

template <step kStep>
__global__ void add_own_element(const float* a, const float* b, float* sum, std::size_t n) {
  std::size_t i = blockIdx.x;
  if (kStep == step::one_block) i = threadIdx.x;
  if (kStep == step::ceil_division) i = threadIdx.x + i * kThreads;
  if (i >= n) return;
  sum[i] = a[i] + b[i];
}

__global__ void add_from_the_end(const float* a, const float* b, float* sum, std::size_t n) {
  const std::size_t threads = std::size_t{gridDim.x} * blockDim.x;
  const std::size_t mine = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (mine >= n) return;
  for (std::size_t i = mine + (n - 1 - mine) / threads * threads;; i -= threads) {
    sum[i] = a[i] + b[i];
    if (i == mine) break;
  }
}

__global__ void add_quads(const float4* a, const float4* b, float4* sum, std::size_t quads) {
  const std::size_t q = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (q >= quads) return;
  const float4 x = a[q], y = b[q];
  float4 z;
  z.x = x.x + y.x;
  z.y = x.y + y.y;
  z.z = x.z + y.z;
  z.w = x.w + y.w;
  sum[q] = z;
}

unsigned blocks(std::size_t needed) {
  return at_most(device_limit(cudaDevAttrMaxGridDimX), needed, "blocks");
}

void launch_one_thread_per_block(const float* a, const float* b, float* sum, std::size_t n) {
  add_own_element<step::one_thread_per_block><<<blocks(n), 1>>>(a, b, sum, n);
}

void launch_one_block(const float* a, const float* b, float* sum, std::size_t n) {
  const auto most = device_limit(cudaDevAttrMaxThreadsPerBlock);
  add_own_element<step::one_block><<<1, at_most(most, n, "threads")>>>(a, b, sum, n);
}

void launch_ceil_division(const float* a, const float* b, float* sum, std::size_t n) {
  const std::size_t needed = n / kThreads + (n % kThreads == 0 ? 0 : 1);
  add_own_element<step::ceil_division><<<blocks(needed), kThreads>>>(a, b, sum, n);
}

void launch_grid_stride(const float* a, const float* b, float* sum, std::size_t n) {
  int size = 0, least = 0;
  CUDA_CHECK(cudaOccupancyMaxPotentialBlockSize(&least, &size, add_from_the_end));
  const auto threads = static_cast<unsigned>(size);
  const std::size_t needed = (n + threads - 1) / threads;
  const auto grid =
      static_cast<unsigned>(std::min<std::size_t>(needed, static_cast<std::size_t>(least)));
  add_from_the_end<<<grid, threads>>>(a, b, sum, n);
}

void launch_vectorized(const float* a, const float* b, float* sum, std::size_t n) {
  const std::size_t quads = n / 4, done = 4 * quads;
  if (quads > 0) {
    add_quads<<<blocks((quads + kThreads - 1) / kThreads), kThreads>>>(
        reinterpret_cast<const float4*>(a), reinterpret_cast<const float4*>(b),
        reinterpret_cast<float4*>(sum), quads);
    CUDA_CHECK(cudaGetLastError());
  }
  if (done < n)
    add_own_element<step::one_block>
        <<<1, static_cast<unsigned>(n - done)>>>(a + done, b + done, sum + done, n - done);
}

void add_on_cpu(std::span<const float> a, std::span<const float> b, std::span<float> sum) {
  std::ranges::transform(a, b, sum.begin(), [](float x, float y) { return x + y; });
}

void copy_to_device(std::span<const float> from, float* to) {
  CUDA_CHECK(cudaMemcpy(to, from.data(), from.size_bytes(), cudaMemcpyDefault));
}

void copy_to_host(const float* from, std::span<float> to) {
  CUDA_CHECK(cudaMemcpy(to.data(), from, to.size_bytes(), cudaMemcpyDefault));
}

}  // namespace

result add(step version, std::span<const float> a, std::span<const float> b) {
  const pieces mine{add_on_cpu,
                    copy_to_device,
                    copy_to_host,
                    {launch_one_thread_per_block, launch_one_block, launch_ceil_division,
                     launch_grid_stride, launch_vectorized}};
  return host_part_of_add(mine, version, a, b);
}

}  // namespace lab::vector_add
