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
    throw not_written("textures over linear memory", 1);
  }

  __device__ static float at(cudaTextureObject_t view, std::size_t i) {
    // TODO(1): element i, exactly as it was stored.
    return 0;
  }
};

struct in_array {
  array_owner array;
  texture_view view;

  explicit in_array(std::span<const float> values)
      : array(array_of(values)), view(view_of(array)) {}

  static array_owner array_of(std::span<const float> values) {
    // TODO(4): as in 08.1: an array that contains these floats.
    throw not_written("textures over arrays", 4);
  }

  static texture_view view_of(const array_owner& array) {
    // TODO(4): as in 08.1: an array; coordinates in texels, no filtering, floats as floats.
    throw not_written("textures over arrays", 4);
  }

  __device__ static float at(cudaTextureObject_t view, std::size_t i) {
    // TODO(4): element i, exactly as it was stored: where is its centre?
    return 0;
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
  throw not_written("longest()", 3);
}

result dot(step version, std::span<const float> a, std::span<const float> b) {
  const std::size_t n = a.size();
  refuse_if(n != b.size(), "texture_dot: a has ", n, " elements and b has ", b.size(),
            "; they must be equally long");
  // TODO(3): reject a vector that is too long, before any allocation, naming n and the limit.
  if (n == 0) return {};  // a texture cannot be empty

  // TODO(5): the other two steps.
  switch (version) {
    case step::linear_linear:
      return dot_of<in_linear, in_linear>(a, b);
    default:
      throw not_written("steps array_linear and array_array", 5);
  }
  throw invalid_input("texture_dot: there is no such step");
}

}  // namespace lab::texture_dot
