// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 08.3 texture_dot: one kernel for two kinds of textures, and the limits of each kind.
// Edit:  this file, from TODO(1) to TODO(5). texture_dot.hpp has the contract.
// Run:   scripts/lab run 08.3 -- --step linear_linear     (then array_linear, array_array)
// Test:  scripts/lab test 08.3
// Hints: scripts/lab hint 08.3             Chapter: docs/08_textures.md

#include <cuda_runtime.h>

#include "given.hpp"

namespace lab::texture_dot {
namespace {

constexpr unsigned kThreads = 256;
constexpr unsigned kMaxBlocks = 1024;  // fills the GPUs of today; the threads stride over the rest

// --- the two kinds -------------------------------------------------------------------------------
// Each owns the memory it needs, has a view, and knows how to read element i.

struct in_linear {
  device_buffer<float> memory;
  texture_view view;  // made after the memory, destroyed before it

  explicit in_linear(std::span<const float> values) : memory(values), view(view_of(memory)) {}

  static texture_view view_of(const device_buffer<float>& memory) {
    // TODO(1): as in 08.1: linear memory of floats.
    // BEGIN SOLUTION
    // STUB: throw not_written("textures over linear memory", 1);
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeLinear;
    resource.res.linear.devPtr = const_cast<float*>(memory.data());  // a texture does not write
    resource.res.linear.sizeInBytes = memory.size_bytes();
    resource.res.linear.desc = cudaCreateChannelDesc<float>();
    cudaTextureDesc description = {};
    description.readMode = cudaReadModeElementType;
    return texture_view(resource, description);
    // END SOLUTION
  }

  __device__ static float at(cudaTextureObject_t view, std::size_t i) {
    // TODO(1): element i, exactly as it was stored.
    // BEGIN SOLUTION
    // STUB: return 0;
    return tex1Dfetch<float>(view, static_cast<int>(i));
    // END SOLUTION
  }
};

struct in_array {
  array_owner array;
  texture_view view;

  explicit in_array(std::span<const float> values)
      : array(array_of(values)), view(view_of(array)) {}

  static array_owner array_of(std::span<const float> values) {
    // TODO(4): as in 08.1: an array that contains these floats.
    // BEGIN SOLUTION
    // STUB: throw not_written("textures over arrays", 4);
    const cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
    cudaArray_t handle = nullptr;
    CUDA_CHECK(cudaMallocArray(&handle, &format, values.size()));
    array_owner array(handle);
    const std::size_t row = values.size_bytes();
    CUDA_CHECK(
        cudaMemcpy2DToArray(handle, 0, 0, values.data(), row, row, 1, cudaMemcpyHostToDevice));
    return array;
    // END SOLUTION
  }

  static texture_view view_of(const array_owner& array) {
    // TODO(4): as in 08.1: an array; coordinates in texels, no filtering, floats as floats.
    // BEGIN SOLUTION
    // STUB: throw not_written("textures over arrays", 4);
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array.get();
    cudaTextureDesc description = {};
    description.addressMode[0] = cudaAddressModeClamp;
    description.addressMode[1] = cudaAddressModeClamp;
    description.filterMode = cudaFilterModePoint;
    description.readMode = cudaReadModeElementType;
    description.normalizedCoords = 0;
    return texture_view(resource, description);
    // END SOLUTION
  }

  __device__ static float at(cudaTextureObject_t view, std::size_t i) {
    // TODO(4): element i, exactly as it was stored: where is its centre?
    // BEGIN SOLUTION
    // STUB: return 0;
    return tex1D<float>(view, static_cast<float>(i) + 0.5F);
    // END SOLUTION
  }
};

// --- one kernel for all of them ------------------------------------------------------------------

/// partial[block] = the sum of the products of the block's threads. A::at and B::at read a and b.
template <class A, class B>
__global__ void add_products(cudaTextureObject_t a, cudaTextureObject_t b, std::size_t n,
                             float* partial) {
  __shared__ float cache[kThreads];
  // TODO(2): add up this thread's products: from its index in the grid, in strides of the grid;
  //          a thread without products contributes 0. Then one thread stores the block's sum.
  // BEGIN SOLUTION
  float mine = 0;
  const std::size_t stride = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += stride)
    mine += A::at(a, i) * B::at(b, i);

  const float sum = sum_of_block(cache, mine);
  if (threadIdx.x == 0) partial[blockIdx.x] = sum;
  // END SOLUTION
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
  device_buffer<float> device_partial(blocks);
  const float kernel_ms = time_kernel([&] {
    add_products<A, B><<<blocks, kThreads>>>(texture_a.view.object(), texture_b.view.object(), n,
                                             device_partial.data());
  });
  const std::vector<float> partial = device_partial.to_vector();
  return {static_cast<float>(std::accumulate(partial.begin(), partial.end(), 0.0)), kernel_ms};
}

}  // namespace

std::size_t longest(step version) {
  // TODO(3): the limit of this device's textures: of the two kinds in the step, the smaller one.
  //          Query it with the functions of lab/texture.hpp; do not hard-code a number.
  // BEGIN SOLUTION
  // STUB: throw not_written("longest()", 3);
  return version == step::linear_linear
             ? most_texels_in_linear_memory()
             : std::min(most_texels_in_an_array(), most_texels_in_linear_memory());
  // END SOLUTION
}

result dot(step version, std::span<const float> a, std::span<const float> b) {
  const std::size_t n = a.size();
  refuse_if(n != b.size(), "texture_dot: a has ", n, " elements and b has ", b.size(),
            "; they must be equally long");
  // TODO(3): reject a vector that is too long, before any allocation, naming n and the limit.
  // BEGIN SOLUTION
  if (n > longest(version))
    throw invalid_input("texture_dot: " + std::to_string(n) + " elements are more than the " +
                        std::to_string(longest(version)) +
                        " that this step's textures can have on this device");
  // END SOLUTION
  if (n == 0) return {};  // a texture cannot be empty

  // TODO(5): the other two steps.
  switch (version) {
    case step::linear_linear:
      return dot_of<in_linear, in_linear>(a, b);
    // BEGIN SOLUTION
    // STUB: default:
    // STUB:   throw not_written("steps array_linear and array_array", 5);
    case step::array_linear:
      return dot_of<in_array, in_linear>(a, b);
    case step::array_array:
      return dot_of<in_array, in_array>(a, b);
      // END SOLUTION
  }
  throw invalid_input("texture_dot: there is no such step");
}

}  // namespace lab::texture_dot
