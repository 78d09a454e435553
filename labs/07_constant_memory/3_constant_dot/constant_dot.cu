// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 07.3 constant_dot: a vector is copied through 64 KiB of constant memory, piece by piece.
// Edit:  this nearly empty file: TODO(1) to TODO(4). constant_dot.hpp has the contract.
// Run:   scripts/lab run 07.3 -- --step global_memory     (then constant_memory)
// Test:  scripts/lab test 07.3
// Hints: scripts/lab hint 07.3                     Chapter: docs/07_constant_memory.md

#include <cuda_runtime.h>

#include "given.hpp"

namespace lab::constant_dot {
namespace {

// TODO(1): step global_memory: a kernel with a product per thread, whose blocks store their sums
//          (sum_of_block() of lab/block_sum.hpp; a thread without an element contributes 0), and
//          its launch in a time_kernel(). The host adds the blocks' sums (sum_of() of given.hpp).

// TODO(2): step constant_memory: an array of kMostInAPass floats in constant memory, and the same
//          kernel with b there. After the last element of a pass, the array still has the values
//          of an earlier pass.

// TODO(3): its passes: copy a part of b, launch on the same part of a. Each block of each pass has
//          its own element in the partial sums, and no kernel sees the numbers of another
//          pass. Use an event_timer for each pass, and read them only after the last launch:
//          milliseconds() waits. Check every launch.

}  // namespace

result dot(step version, std::span<const float> a, std::span<const float> b) {
  // TODO(4): reject what the contract rejects; a on the device; then the step's function.
  if (version == step::global_memory) throw not_written("step global_memory", 1);
  throw not_written("step constant_memory", 2);  // 2 and 3
}

}  // namespace lab::constant_dot
