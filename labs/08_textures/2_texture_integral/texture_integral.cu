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

// TODO(2): the kernel: each thread adds up, in double, the samples from its index in the grid on,
//          in strides of the grid, all fetched from the texture. A thread without samples
//          contributes 0. Then the block's sum (lab/block_sum.hpp), which one thread stores.

}  // namespace

result integrate(std::span<const float> samples, double from, double to) {
  // TODO(3): require_sensible() of given.hpp rejects what the contract rejects. Then the samples in
  //          device memory, a view of them, the kernel in a time_kernel(), and h times the sum of
  //          all blocks' sums. Invariant: memory and view live until the kernel has finished.
  throw not_written("the integral", 1);
}

}  // namespace lab::texture_integral
