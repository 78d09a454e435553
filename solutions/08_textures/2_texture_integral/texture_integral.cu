// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 08.2 texture_integral: samples of a function in a texture, added up.
// Edit:  this nearly empty file: TODO(1) to TODO(3). texture_integral.hpp: the contract.
// Run:   scripts/lab run 08.2 -- --integrand sine --to 3
// Test:  scripts/lab test 08.2
// Hints: scripts/lab hint 08.2             Chapter: docs/08_textures.md

#include <cuda_runtime.h>

#include "given.hpp"

namespace lab::texture_integral {
namespace {

// TODO(1): a view of samples in device memory: a texture over all of a linear memory of floats,
//          read unchanged. Try to write it without looking at 08.1.
// BEGIN SOLUTION
constexpr unsigned kThreads = 256;
constexpr unsigned kMaxBlocks = 1024;  // fills the GPUs of today; the threads stride over the rest

/// A view of samples in device memory; as in 08.1.
texture_view view_of(const device_buffer<float>& samples) {
  cudaResourceDesc memory = {};
  memory.resType = cudaResourceTypeLinear;
  memory.res.linear.devPtr = const_cast<float*>(samples.data());  // a texture does not write
  memory.res.linear.sizeInBytes = samples.size_bytes();
  memory.res.linear.desc = cudaCreateChannelDesc<float>();
  cudaTextureDesc description = {};
  description.readMode = cudaReadModeElementType;
  return texture_view(memory, description);
}
// END SOLUTION

// TODO(2): the kernel: each thread adds up, in double, the samples from its index in the grid on,
//          in strides of the grid, all fetched from the texture. A thread without samples
//          contributes 0. Then the block's sum (lab/block_sum.hpp), which one thread stores.
// BEGIN SOLUTION
/// partial[block] = the sum of the samples of the block's threads.
__global__ void add_samples(cudaTextureObject_t samples, std::size_t n, double* partial) {
  __shared__ double cache[kThreads];
  double mine = 0;
  const std::size_t stride = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += stride)
    mine += tex1Dfetch<float>(samples, static_cast<int>(i));

  const double sum = sum_of_block(cache, mine);
  if (threadIdx.x == 0) partial[blockIdx.x] = sum;
}
// END SOLUTION

}  // namespace

result integrate(std::span<const float> samples, double from, double to) {
  // TODO(3): require_sensible() of given.hpp rejects what the contract rejects. Then the samples in
  //          device memory, a view of them, the kernel in a time_kernel(), and h times the sum of
  //          all blocks' sums. Invariant: memory and view live until the kernel has finished.
  // BEGIN SOLUTION
  // STUB: throw not_written("the integral", 1);
  require_sensible(samples, from, to);
  const std::size_t n = samples.size();
  const auto blocks =
      static_cast<unsigned>(std::min<std::size_t>((n + kThreads - 1) / kThreads, kMaxBlocks));
  device_buffer<double> device_partial(blocks);
  const device_buffer<float> memory(samples);
  const texture_view view = view_of(memory);  // made after the memory, destroyed before it
  const float kernel_ms = time_kernel(
      [&] { add_samples<<<blocks, kThreads>>>(view.object(), n, device_partial.data()); });

  const std::vector<double> partial = device_partial.to_vector();
  const double h = (to - from) / static_cast<double>(n);
  return {h * std::accumulate(partial.begin(), partial.end(), 0.0), kernel_ms};
  // END SOLUTION
}

}  // namespace lab::texture_integral
