// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Differs from the solution: nothing of the given host part is used. Copies and kernels are queued
// in a stream that is created for them, blocks have two dimensions, and all steps but `vectorized`
// launch one kernel with a grid-stride loop.

#include <cuda_runtime.h>

#include "given.hpp"
#include "lab/device_buffer.hpp"

namespace lab::vector_add {
namespace {

__device__ std::size_t number_of_thread() {
  const unsigned in_block = threadIdx.y * blockDim.x + threadIdx.x;
  return std::size_t{blockIdx.x} * (blockDim.x * blockDim.y) + in_block;
}

__global__ void add_by_strides(const float* a, const float* b, float* sum, std::size_t n) {
  const std::size_t threads = std::size_t{gridDim.x} * (blockDim.x * blockDim.y);
  for (std::size_t i = number_of_thread(); i < n; i += threads) sum[i] = a[i] + b[i];
}

__global__ void add_quads(const float* a, const float* b, float* sum, std::size_t n) {
  const std::size_t q = number_of_thread();
  if (q < n / 4) {
    const float4 x = reinterpret_cast<const float4*>(a)[q];
    const float4 y = reinterpret_cast<const float4*>(b)[q];
    reinterpret_cast<float4*>(sum)[q] = {x.x + y.x, x.y + y.y, x.z + y.z, x.w + y.w};
  } else if (q == n / 4) {
    for (std::size_t i = 4 * q; i < n; ++i) sum[i] = a[i] + b[i];
  }
}

struct stream_owner {
  cudaStream_t stream = nullptr;
  stream_owner() { CUDA_CHECK(cudaStreamCreate(&stream)); }
  stream_owner(const stream_owner&) = delete;
  stream_owner& operator=(const stream_owner&) = delete;
  ~stream_owner() { CUDA_CHECK_NOTHROW(cudaStreamDestroy(stream)); }
};

struct launch_shape {
  unsigned blocks;
  dim3 block;
};

launch_shape shape_of(step version, std::size_t n) {
  const std::size_t most_blocks = device_limit(cudaDevAttrMaxGridDimX);
  const auto whole = [&](std::size_t each) {
    return at_most(most_blocks, (n + each - 1) / each, "blocks");
  };
  switch (version) {
    case step::one_thread_per_block:
      return {at_most(most_blocks, n, "blocks"), 1};
    case step::one_block:
      return {1, at_most(device_limit(cudaDevAttrMaxThreadsPerBlock), n, "threads of a block")};
    case step::ceil_division:
      return {whole(256), dim3(64, 4)};
    case step::vectorized:
      return {whole(1024), dim3(32, 8)};
    default: {
      const std::size_t resident = device_limit(cudaDevAttrMultiProcessorCount) *
                                   device_limit(cudaDevAttrMaxThreadsPerMultiProcessor) / 128;
      return {static_cast<unsigned>(std::min(resident, (n + 127) / 128)), dim3(32, 4)};
    }
  }
}

}  // namespace

result add(step version, std::span<const float> a, std::span<const float> b) {
  const std::size_t n = a.size();
  refuse_if(b.size() != n, "vector_add: ", n, " and ", b.size(), " elements cannot be added");
  result out;
  out.sum.resize(n);
  if (n == 0) return out;
  if (version == step::cpu) {
    const host_timer timer;
    std::transform(a.begin(), a.end(), b.begin(), out.sum.begin(),
                   [](float x, float y) { return x + y; });
    out.kernel_ms = static_cast<float>(timer.milliseconds());
    return out;
  }

  const launch_shape shape = shape_of(version, n);
  device_buffer<float> on_device[] = {device_buffer<float>(n), device_buffer<float>(n),
                                      device_buffer<float>(n)};
  auto& [device_a, device_b, device_sum] = on_device;
  const stream_owner own;
  CUDA_CHECK(cudaMemcpyAsync(device_a.data(), a.data(), a.size_bytes(), cudaMemcpyHostToDevice,
                             own.stream));
  CUDA_CHECK(cudaMemcpyAsync(device_b.data(), b.data(), b.size_bytes(), cudaMemcpyHostToDevice,
                             own.stream));
  CUDA_CHECK(cudaStreamSynchronize(own.stream));
  auto* const kernel = version == step::vectorized ? add_quads : add_by_strides;
  const host_timer timer;
  kernel<<<shape.blocks, shape.block, 0, own.stream>>>(device_a.data(), device_b.data(),
                                                       device_sum.data(), n);
  CUDA_CHECK(cudaGetLastError());
  CUDA_CHECK(cudaStreamSynchronize(own.stream));
  out.kernel_ms = static_cast<float>(timer.milliseconds());
  CUDA_CHECK(
      cudaMemcpy(out.sum.data(), device_sum.data(), n * sizeof(float), cudaMemcpyDeviceToHost));
  return out;
}

}  // namespace lab::vector_add
