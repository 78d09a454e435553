// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 21.1 roofline: how fast a kernel can be, measured, and how far kernels are below that.
// Edit:  this nearly empty file: TODO(1) to TODO(6). roofline.hpp has the contract.
// Run:   scripts/lab run 21.1 -- --step one_element     (then four_elements)
// Test:  scripts/lab test 21.1
// Hints: scripts/lab hint 21.1                  Chapter: docs/21_profiling.md

#include <cuda_runtime.h>

#include "given.hpp"

namespace lab::roofline {
namespace {

// TODO(1): step one_element: a kernel (job of given.hpp) whose thread reads its element, does all
//          rounds on it, one fmaf() each, and writes it. `#pragma unroll 16` before the loop makes
//          the compiler generate 16 rounds one after the other: otherwise counting takes as long
//          as the arithmetic. Invariant: one read and one write of global memory, whatever j.rounds
//          is.

// TODO(2): step four_elements: thread t has the elements 4t to 4t + 3. One float4 load reads all of
//          them, if there are four. All four go through a round before the next round begins: the
//          operations of a round do not wait for each other.

}  // namespace

result apply(step version, std::span<const float> values, unsigned rounds) {
  // TODO(3): host_part_of_apply() of given.hpp checks, allocates, times and copies. It calls
  //          your lambda (const job& j) for the launch: blocks_for() as many threads as the step
  //          needs, of kThreads each.
  if (version == step::one_element) throw not_written("step one_element", 1);  // 1 and 3
  throw not_written("step four_elements", 2);
}

work work_of(std::size_t n, unsigned rounds) {
  // TODO(4): the work of apply(), which is the same for both steps. All of it in doubles: the
  //          product of two integers may not fit into 32 bits.
  throw not_written("the work of a kernel", 4);
}

work least_work(course kernel, std::size_t n) {
  // TODO(4): the same for the kernels of this course. How often is each float read, and written?
  throw not_written("the work of a kernel", 4);
}

ceilings roof_of(std::span<const measurement> kernels) {
  // TODO(5): require_measurements() rejects what the contract rejects. The best rate of bytes and
  //          the best rate of operations, independently; per second.
  throw not_written("the roof", 5);
}

point locate(const work& done, double ms, const ceilings& roof) {
  // TODO(6): require_place() rejects what the contract rejects. The rest follows the contract.
  //          What is least_ms if memory and arithmetic overlap perfectly?
  throw not_written("the place of a kernel", 6);
}

}  // namespace lab::roofline
