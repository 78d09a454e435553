// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 08.2 texture_integral: samples of a function in a texture, added up.
// Edit:  this file, from TODO(1) to TODO(3). texture_integral.hpp says what is asked for.
// Run:   scripts/lab run 08.2 -- --integrand sine --to 3
// Test:  scripts/lab test 08.2
// Hints: scripts/lab hint 08.2             Chapter: docs/08_textures.md

#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <string>
#include <vector>

#include "lab/cuda_check.hpp"
#include "lab/device_buffer.hpp"
#include "lab/errors.hpp"
#include "lab/texture.hpp"
#include "lab/time_kernel.hpp"
#include "texture_integral.hpp"

namespace lab::texture_integral {
namespace {

constexpr unsigned kThreads = 256;
constexpr unsigned kMaxBlocks = 1024;  // fills the GPUs of today; more samples are a stride away

/// The tree of 05.1, in double (given): the sum of what the threads of this block bring along, for
/// thread 0. `cache` is shared memory with one double a thread. All threads of the block call it.
__device__ double sum_of_block(double* cache, double mine) {
  const unsigned thread = threadIdx.x;
  cache[thread] = mine;
  __syncthreads();  // all numbers are in place
  for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
    if (thread < half) cache[thread] += cache[thread + half];
    __syncthreads();  // this level is complete; outside the if: all threads of the block arrive
  }
  return cache[0];
}

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

// --- given ---------------------------------------------------------------------------------------

void require_sensible(std::span<const float> samples, double from, double to) {
  const std::size_t most = most_texels_in_linear_memory();
  if (samples.empty() || samples.size() > most)
    throw invalid_input("texture_integral: " + std::to_string(samples.size()) +
                        " samples, where this device's textures allow from 1 to " +
                        std::to_string(most));
  if (!std::isfinite(to - from))  // nor is it where one of them is not finite
    throw invalid_input("texture_integral: from " + std::to_string(from) + " to " +
                        std::to_string(to) + " is no finite distance");
}

}  // namespace

result integrate(std::span<const float> samples, double from, double to) {
  require_sensible(samples, from, to);
  const std::size_t n = samples.size();
  const auto blocks =
      static_cast<unsigned>(std::min<std::size_t>((n + kThreads - 1) / kThreads, kMaxBlocks));
  device_buffer<double> device_partial(blocks);
  // TODO(3): the samples into device memory, a view of them, and the kernel between start() and
  //          stop(), in `blocks` blocks of kThreads. Memory and view live until the kernel is done.
  //          Then h times the sum of all blocks' sums.
  throw not_written("the integral", 3);
}

}  // namespace lab::texture_integral
