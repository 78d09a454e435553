// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Differs from the solution: arrays are made by cudaMalloc3DArray and filled by cudaMemcpy3D, the
// kernel decides at run time how it reads, and the last block to finish adds the blocks' sums.

#include <cuda_runtime.h>

#include "given.hpp"

namespace lab::texture_dot {
namespace {

constexpr unsigned kThreads = 256, kMostBlocks = 256;

struct input {
  cudaTextureObject_t texture;
  bool in_array;
};

__device__ float element(const input& from, std::size_t i) {
  return from.in_array ? tex1D<float>(from.texture, static_cast<float>(i) + 0.5F)
                       : tex1Dfetch<float>(from.texture, static_cast<int>(i));
}

struct sums {
  float of_blocks[kMostBlocks];
  unsigned finished;
  float all;
};

__global__ void multiply(input a, input b, std::size_t n, sums* result) {
  __shared__ float cache[kThreads];
  __shared__ bool last;
  const std::size_t stride = static_cast<std::size_t>(gridDim.x) * kThreads;
  float mine = 0;
  for (std::size_t i = static_cast<std::size_t>(blockIdx.x) * kThreads + threadIdx.x; i < n;
       i += stride)
    mine += element(a, i) * element(b, i);
  const float of_block = sum_of_block(cache, mine);
  if (threadIdx.x == 0) {
    result->of_blocks[blockIdx.x] = of_block;
    __threadfence();
    last = atomicAdd(&result->finished, 1U) == gridDim.x - 1;
  }
  __syncthreads();
  if (!last) return;
  __threadfence();
  const volatile float* of_blocks = result->of_blocks;
  const float all = sum_of_block(cache, threadIdx.x < gridDim.x ? of_blocks[threadIdx.x] : 0.0F);
  if (threadIdx.x == 0) {
    result->all = all;
    result->finished = 0;  // for the next launch
  }
}

struct memory {
  device_buffer<float> linear;
  array_owner array;
  cudaResourceDesc resource = {};

  memory(std::span<const float> values, bool in_array) {
    const cudaChannelFormatDesc a_float = cudaCreateChannelDesc<float>();
    if (!in_array) {
      linear = device_buffer<float>(values);
      resource.resType = cudaResourceTypeLinear;
      resource.res.linear.devPtr = linear.data();
      resource.res.linear.sizeInBytes = values.size_bytes();
      resource.res.linear.desc = a_float;
      return;
    }
    cudaArray_t made = nullptr;
    CUDA_CHECK(cudaMalloc3DArray(&made, &a_float, make_cudaExtent(values.size(), 0, 0)));
    array.reset(made);
    cudaMemcpy3DParms copy = {};
    copy.srcPtr = make_cudaPitchedPtr(const_cast<float*>(values.data()), values.size_bytes(),
                                      values.size(), 1);
    copy.dstArray = made;
    copy.extent = make_cudaExtent(values.size(), 1, 1);
    copy.kind = cudaMemcpyHostToDevice;
    CUDA_CHECK(cudaMemcpy3D(&copy));
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = made;
  }
};

}  // namespace

std::size_t longest(step version) {
  const std::size_t linear = most_texels_in_linear_memory();
  return version == step::linear_linear ? linear : std::min(linear, most_texels_in_an_array());
}

result dot(step version, std::span<const float> a, std::span<const float> b) {
  const std::size_t n = a.size(), most = longest(version);
  refuse_if(n != b.size(), "texture_dot: a has ", n, " elements and b has ", b.size());
  refuse_if(n > most, "texture_dot: ", n, " elements are more than this step's ", most);
  if (n == 0) return {};

  const bool a_in_array = version != step::linear_linear, b_in_array = version == step::array_array;
  const memory of_a(a, a_in_array), of_b(b, b_in_array);
  device_buffer<sums> all(1);
  CUDA_CHECK(cudaMemset(all.data(), 0, all.size_bytes()));
  cudaTextureDesc as_stored = {};
  as_stored.readMode = cudaReadModeElementType;
  const texture_view view_a(of_a.resource, as_stored), view_b(of_b.resource, as_stored);

  const auto blocks =
      static_cast<unsigned>(std::min<std::size_t>((n + kThreads - 1) / kThreads, kMostBlocks));
  const float kernel_ms = time_kernel([&] {
    multiply<<<blocks, kThreads>>>({view_a.object(), a_in_array}, {view_b.object(), b_in_array}, n,
                                   all.data());
  });
  return {all.to_vector()[0].all, kernel_ms};
}

}  // namespace lab::texture_dot
