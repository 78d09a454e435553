// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 08.2 texture_integral: samples of a function in a texture, added up.
// Edit:  this file, from TODO(1) to TODO(3). texture_integral.hpp says what is asked for.
// Run:   scripts/lab run 08.2 -- --integrand sine --to 3
// Test:  scripts/lab test 08.2
// Hints: scripts/lab hint 08.2             Chapter: docs/08_textures.md

#include <cuda_runtime.h>

#include "given.hpp"

namespace lab::texture_integral {
namespace {

constexpr unsigned kThreads = 256;
constexpr unsigned kMaxBlocks = 1024;  // fills the GPUs of today; more samples are a stride away

/// A view of samples in device memory; as in 08.1.
texture_view view_of(const device_buffer<float>& samples) {
  // TODO(1): linear memory of floats, all of it, read as it is. Try it from memory.
  throw not_written("the integral", 1);
}

/// partial[block] = the sum of the samples of the block's threads.
__global__ void add_samples(cudaTextureObject_t samples, std::size_t n, double* partial) {
  __shared__ double cache[kThreads];
  // TODO(2): each thread adds up, in double, the sample that has its number in the grid, and then
  //          those in strides of the grid, all fetched from the texture. A thread without any
  //          brings 0. Then the block's sum, which one thread stores.
}

}  // namespace

// --- given ---------------------------------------------------------------------------------------

result integrate(std::span<const float> samples, double from, double to) {
  require_sensible(samples, from, to);
  const std::size_t n = samples.size();
  const auto blocks =
      static_cast<unsigned>(std::min<std::size_t>((n + kThreads - 1) / kThreads, kMaxBlocks));
  device_buffer<double> device_partial(blocks);
  // TODO(3): the samples into device memory, a view of them, and in time_kernel() the kernel, in
  //          `blocks` blocks of kThreads. Memory and view live until the kernel is done.
  //          Then h times the sum of all blocks' sums.
  throw not_written("the integral", 3);
}

}  // namespace lab::texture_integral
