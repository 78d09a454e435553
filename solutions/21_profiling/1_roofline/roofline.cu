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
// BEGIN SOLUTION
// --- a kernel of any arithmetic intensity --------------------------------------------------------

/// The element after all rounds. y never leaves its register.
__device__ float advance(float y, unsigned rounds) {
#pragma unroll 16
  for (unsigned i = 0; i < rounds; ++i) y = fmaf(kScale, y, kShift);
  return y;
}

__global__ void one_element(job j) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < j.n) j.output[i] = advance(j.input[i], j.rounds);
}
// END SOLUTION

// TODO(2): step four_elements: thread t has the elements 4t to 4t + 3. One float4 load reads all of
//          them, if there are four. All four go through a round before the next round begins: the
//          operations of a round do not wait for each other.
// BEGIN SOLUTION
__global__ void four_elements(job j) {
  const std::size_t t = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (4 * t + 4 <= j.n) {
    float4 y = reinterpret_cast<const float4*>(j.input)[t];
#pragma unroll 16
    for (unsigned i = 0; i < j.rounds; ++i) {
      y.x = fmaf(kScale, y.x, kShift);
      y.y = fmaf(kScale, y.y, kShift);
      y.z = fmaf(kScale, y.z, kShift);
      y.w = fmaf(kScale, y.w, kShift);
    }
    reinterpret_cast<float4*>(j.output)[t] = y;
  } else {  // the last one to three elements, by one thread
    for (std::size_t i = 4 * t; i < j.n; ++i) j.output[i] = advance(j.input[i], j.rounds);
  }
}
// END SOLUTION

// BEGIN SOLUTION
void launch(step version, const job& j) {
  if (version == step::one_element)
    one_element<<<blocks_for(j.n), kThreads>>>(j);
  else
    four_elements<<<blocks_for((j.n + 3) / 4), kThreads>>>(j);
}
// END SOLUTION

}  // namespace

result apply(step version, std::span<const float> values, unsigned rounds) {
  // TODO(3): host_part_of_apply() of given.hpp checks, allocates, times and copies. It calls
  //          your lambda (const job& j) for the launch: blocks_for() as many threads as the step
  //          needs, of kThreads each.
  // BEGIN SOLUTION
  // STUB: if (version == step::one_element) throw not_written("step one_element", 1);  // 1 and 3
  // STUB: throw not_written("step four_elements", 2);
  return host_part_of_apply(values, rounds, [&](const job& j) { launch(version, j); });
  // END SOLUTION
}

work work_of(std::size_t n, unsigned rounds) {
  // TODO(4): the work of apply(), which is the same for both steps. All of it in doubles: the
  //          product of two integers may not fit into 32 bits.
  // BEGIN SOLUTION
  // STUB: throw not_written("the work of a kernel", 4);
  const auto elements = static_cast<double>(n);
  return {2.0 * rounds * elements, 2 * sizeof(float) * elements};
  // END SOLUTION
}

work least_work(course kernel, std::size_t n) {
  // TODO(4): the same for the kernels of this course. How often is each float read, and written?
  // BEGIN SOLUTION
  // STUB: throw not_written("the work of a kernel", 4);
  const auto of_n = static_cast<double>(n);
  constexpr double kFloat = sizeof(float);
  const auto product = [&](double tile) {
    return work{2 * of_n * of_n * of_n, 2 * of_n * of_n * (of_n / tile) * kFloat};
  };
  switch (kernel) {
    case course::vector_add:
      return {of_n, 3 * of_n * kFloat};
    case course::dot_product:
      return {2 * of_n, 2 * of_n * kFloat};
    case course::heat_transfer:
      return {7 * of_n, 3 * of_n * kFloat};
    case course::tile_16:
      return product(16);
    case course::tile_32:
      return product(32);
    case course::tile_128:
      return product(128);
  }
  throw invalid_input("roofline: there is no such kernel in this course");
  // END SOLUTION
}

ceilings roof_of(std::span<const measurement> kernels) {
  // TODO(5): require_measurements() rejects what the contract rejects. The best rate of bytes and
  //          the best rate of operations, independently; per second.
  // BEGIN SOLUTION
  // STUB: throw not_written("the roof", 5);
  require_measurements(kernels);
  ceilings roof;
  for (const auto& [done, ms] : kernels) {
    roof.bytes_per_second = std::max(roof.bytes_per_second, done.bytes / (ms / 1000));
    roof.operations_per_second =
        std::max(roof.operations_per_second, done.operations / (ms / 1000));
  }
  return roof;
  // END SOLUTION
}

point locate(const work& done, double ms, const ceilings& roof) {
  // TODO(6): require_place() rejects what the contract rejects. The rest follows the contract.
  //          What is least_ms if memory and arithmetic overlap perfectly?
  // BEGIN SOLUTION
  // STUB: throw not_written("the place of a kernel", 6);
  require_place(done, ms, roof);
  point p;
  p.intensity = done.operations / done.bytes;  // x / 0 is infinite
  const double by_memory = p.intensity * roof.bytes_per_second;
  p.limit = by_memory < roof.operations_per_second ? bound::memory : bound::arithmetic;
  p.most_per_second = std::min(by_memory, roof.operations_per_second);
  p.least_ms = 1000 * std::max(done.bytes / roof.bytes_per_second,
                               done.operations / roof.operations_per_second);
  if (ms > 0) {
    p.reached_per_second = done.operations / (ms / 1000);
    p.share = p.least_ms / ms;
  }
  return p;
  // END SOLUTION
}

}  // namespace lab::roofline
