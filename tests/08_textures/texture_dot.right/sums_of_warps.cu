// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// Differs from the solution: blocks of 128 threads, and a sum for each warp, by shuffles. There is
// no guard: beyond the end, both fetches return 0.

#include <cuda_runtime.h>

#include "given.hpp"

namespace lab::texture_dot {
namespace {

constexpr unsigned kThreads = 128;
constexpr unsigned kMaxBlocks = 2048;

// --- the two kinds -------------------------------------------------------------------------------
// Each owns the memory it needs, has a view, and knows description to read element i.

struct in_linear {
  device_buffer<float> memory;
  texture_view view;  // made after the memory, destroyed before it

  explicit in_linear(std::span<const float> values) : memory(values), view(view_of(memory)) {}

  static texture_view view_of(const device_buffer<float>& memory) {
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeLinear;
    resource.res.linear.devPtr = const_cast<float*>(memory.data());
    resource.res.linear.desc = cudaCreateChannelDesc<float>();
    resource.res.linear.sizeInBytes = memory.size_bytes();
    cudaTextureDesc description = {};
    description.readMode = cudaReadModeElementType;
    return texture_view(resource, description);
  }

  __device__ static float at(cudaTextureObject_t view, std::size_t i) {
    return tex1Dfetch<float>(view, static_cast<int>(i));
  }
};

struct in_array {
  array_owner array;
  texture_view view;

  explicit in_array(std::span<const float> values)
      : array(array_of(values)), view(view_of(array)) {}

  static array_owner array_of(std::span<const float> values) {
    const cudaChannelFormatDesc a_float = cudaCreateChannelDesc<float>();
    cudaArray_t memory = nullptr;
    CUDA_CHECK(cudaMallocArray(&memory, &a_float, values.size()));
    array_owner owner(memory);
    CUDA_CHECK(cudaMemcpy2DToArray(memory, 0, 0, values.data(), values.size_bytes(),
                                   values.size_bytes(), 1, cudaMemcpyHostToDevice));
    return owner;
  }

  static texture_view view_of(const array_owner& array) {
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array.get();
    cudaTextureDesc description = {};
    description.addressMode[0] = cudaAddressModeBorder;  // 0 beyond the end
    description.filterMode = cudaFilterModePoint;
    description.readMode = cudaReadModeElementType;
    return texture_view(resource, description);
  }

  __device__ static float at(cudaTextureObject_t view, std::size_t i) {
    return tex1D<float>(view, static_cast<float>(i) + 0.5F);
  }
};

// --- one kernel for all of them ------------------------------------------------------------------

/// partial[block] = the sum of the products of the block's threads. A::at and B::at read a and b.
template <class A, class B>
__global__ void add_products(cudaTextureObject_t a, cudaTextureObject_t b, std::size_t n,
                             float* partial) {
  const std::size_t all = std::size_t{gridDim.x} * kThreads;
  const std::size_t rounds = (n + all - 1) / all;
  float mine = 0;
  // No guard: what is fetched beyond the end is 0, of both.
  for (std::size_t round = 0; round < rounds; ++round) {
    const std::size_t i = round * all + std::size_t{blockIdx.x} * kThreads + threadIdx.x;
    mine += A::at(a, i) * B::at(b, i);
  }
  for (unsigned away = 16; away > 0; away /= 2) mine += __shfl_xor_sync(0xFFFFFFFFU, mine, away);
  if (threadIdx.x % 32 == 0) partial[blockIdx.x * (kThreads / 32) + threadIdx.x / 32] = mine;
}

/// Stores a in an A and b in a B, and multiplies.
template <class A, class B>
result dot_of(std::span<const float> a, std::span<const float> b) {
  const std::size_t n = a.size();
  const A texture_a(a);
  const B texture_b(b);
  // The grid depends on n alone, so all steps add in the same order.
  const auto blocks =
      static_cast<unsigned>(std::min<std::size_t>((n + kThreads - 1) / kThreads, kMaxBlocks));
  device_buffer<float> device_partial(std::size_t{blocks} * (kThreads / 32));
  const float kernel_ms = time_kernel([&] {
    add_products<A, B><<<blocks, kThreads>>>(texture_a.view.object(), texture_b.view.object(), n,
                                             device_partial.data());
  });
  const std::vector<float> partial = device_partial.to_vector();
  return {static_cast<float>(std::accumulate(partial.begin(), partial.end(), 0.0)), kernel_ms};
}

}  // namespace

std::size_t longest(step version) {
  const std::size_t linear = most_texels_in_linear_memory();
  if (version == step::linear_linear) return linear;
  const std::size_t array = most_texels_in_an_array();
  return version == step::array_array ? array : std::min(linear, array);
}

result dot(step version, std::span<const float> a, std::span<const float> b) {
  const std::size_t n = a.size();
  refuse_if(n != b.size(), "texture_dot: a has ", n, " elements and b has ", b.size(),
            "; they must be equally long");
  const std::size_t most = longest(version);
  refuse_if(n > most, "texture_dot: ", n, " elements, and a texture of this step has at most ",
            most);
  if (n == 0) return {};  // a texture cannot be empty

  switch (version) {
    case step::linear_linear:
      return dot_of<in_linear, in_linear>(a, b);
    case step::array_linear:
      return dot_of<in_array, in_linear>(a, b);
    case step::array_array:
      return dot_of<in_array, in_array>(a, b);
  }
  throw invalid_input("texture_dot: there is no such step");
}

}  // namespace lab::texture_dot
