// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 07.3 constant_dot: a vector that passes through 64 KiB of constant memory, piece by piece.
// Edit:  this file, from TODO(1) to TODO(3). constant_dot.hpp says what is asked for.
// Run:   scripts/lab run 07.3 -- --step global_memory     (then constant_memory)
// Test:  scripts/lab test 07.3
// Hints: scripts/lab hint 07.3                     Chapter: docs/07_constant_memory.md

#include <cuda_runtime.h>

#include "given.hpp"

namespace lab::constant_dot {
namespace {

constexpr unsigned kThreads = 256;
constexpr unsigned kBlocks = kMostInAPass / kThreads;  // of a pass: a thread for each element
static_assert(kMostInAPass % kThreads == 0, "the blocks of a pass cover it without a rest");

// --- global_memory: what the other step is compared with -----------------------------------------

__global__ void from_global_memory(const float* a, const float* b, std::size_t n, float* partial) {
  __shared__ float cache[kThreads];
  // TODO(1): one product per thread; a thread without one brings 0 to sum_of_block(). One thread
  //          stores the block's sum, in the block's own place.
}

result dot_in_global_memory(const float* a, std::span<const float> b) {
  // TODO(1): one launch, in time_kernel(), with a block for each kThreads elements. The host
  //          adds the blocks' sums (sum_of()).
  throw not_written("step global_memory", 1);
}

// --- constant_memory: a pass is what fits --------------------------------------------------------

__constant__ float constant_b[kMostInAPass];

/// `a` is the first element of the pass, which has `count` of them; and so is constant_b.
__global__ void from_constant_memory(const float* a, std::size_t count, float* partial) {
  __shared__ float cache[kThreads];
  // TODO(2): as before, but b is constant_b. Behind `count`, it holds what an earlier pass left.
}

result dot_in_constant_memory(const float* a, std::span<const float> b) {
  // TODO(3): for each pass, copy its part of b to constant_b (at most kMostInAPass floats), and
  //          launch kBlocks blocks on its part of a. Each block of each pass has an element of its
  //          own in the partial sums. No kernel may see the numbers of another pass. Not one kernel
  //          is timed but several, so use an event_timer for each pass: read them only after the
  //          last launch, since milliseconds() waits.
  throw not_written("step constant_memory", 2);  // 2 and 3 are this step
}

}  // namespace

// --- given ---------------------------------------------------------------------------------------

result dot(step which, std::span<const float> a, std::span<const float> b) {
  refuse_if(a.size() != b.size(), "constant_dot: a has ", a.size(), " elements and b has ",
            b.size(), "; they must be equally long");
  if (a.empty()) return {};  // a grid of no blocks would be an error
  const device_buffer device_a(a);
  return which == step::global_memory ? dot_in_global_memory(device_a.data(), b)
                                      : dot_in_constant_memory(device_a.data(), b);
}

}  // namespace lab::constant_dot
