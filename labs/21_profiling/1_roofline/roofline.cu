// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 21.1 roofline: how fast a kernel can be, measured, and where kernels are below that.
// Edit:  this file, from TODO(1) to TODO(6). roofline.hpp says what is asked for.
// Run:   scripts/lab run 21.1 -- --step one_element     (then four_elements)
// Test:  scripts/lab test 21.1
// Hints: scripts/lab hint 21.1                  Chapter: docs/21_profiling.md

#include <cuda_runtime.h>

#include "given.hpp"

namespace lab::roofline {
namespace {

// --- a kernel of any arithmetic intensity --------------------------------------------------------

/// The element after all rounds. y never leaves its register.
__device__ float advance(float y, unsigned rounds) {
  // TODO(1): one fmaf() a round. `#pragma unroll 16` before the loop has the compiler write 16
  //          rounds one after the other: otherwise counting takes as long as the arithmetic.
  return y;
}

__global__ void one_element(job j) {
  // TODO(2): this thread reads its element, advances it, and writes it.
  //          Invariant: one read and one write of global memory, whatever j.rounds is.
}

__global__ void four_elements(job j) {
  // TODO(3): thread t has the elements 4t to 4t + 3. A float4 brings all of them, where there are
  //          four. All four go through a round before the next round begins: the operations of a
  //          round do not wait for each other.
}

void launch(step which, const job& j) {
  // TODO(2): blocks_for() as many threads as the step needs, of kThreads each.
  if (which == step::one_element) throw not_written("step one_element", 1);  // 1 and 2
  if (which == step::four_elements) throw not_written("step four_elements", 3);
}

}  // namespace

result apply(step which, std::span<const float> values, unsigned rounds) {
  return host_part_of_apply(values, rounds, [&](const job& j) { launch(which, j); });
}

// --- the model -----------------------------------------------------------------------------------

work work_of(std::size_t n, unsigned rounds) {
  // TODO(4): what apply() has to do, whichever step does it. All of it in doubles: the product of
  //          two whole numbers may not fit into 32 bits.
  throw not_written("the work of a kernel", 4);
}

work least_work(course kernel, std::size_t n) {
  const auto of_n = static_cast<double>(n);
  // TODO(4): the same for the kernels of this course. How often is each float read, and written?
  throw not_written("the work of a kernel", 4);
}

ceilings roof_of(std::span<const measurement> kernels) {
  require_measurements(kernels);
  // TODO(5): the best rate of bytes and the best rate of operations, each for itself; per second.
  throw not_written("the roof", 5);
}

point place(const work& done, double ms, const ceilings& roof) {
  require_place(done, ms, roof);
  // TODO(6): as the contract has it. What is least_ms if memory and arithmetic overlap perfectly?
  throw not_written("the place of a kernel", 6);
}

}  // namespace lab::roofline
