// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// EXERCISE_ID EXERCISE_NAME: every thread doubles one element.
// Edit:  this file, TODO(1) and TODO(2). EXERCISE_NAME.hpp has the contract.
// Run:   scripts/lab run EXERCISE_ID
// Test:  scripts/lab test EXERCISE_ID
// Hints: scripts/lab hint EXERCISE_ID    Chapter: docs/CHAPTER_FOLDER.md

// AUTHOR: the solved file, from which `scripts/lab dev starters` makes the starter:      // HIDDEN
//         a region becomes its STUB lines, and a line that ends like this one vanishes.  // HIDDEN

#include <cuda_runtime.h>

#include <cstddef>

#include "EXERCISE_NAME.hpp"
#include "lab/cuda_check.hpp"
#include "lab/device_buffer.hpp"
#include "lab/errors.hpp"
#include "lab/timer.hpp"

namespace lab::EXERCISE_NAME {
namespace {

constexpr unsigned kThreads = 256;  // a block

__global__ void double_each(const float* input, float* output, std::size_t n) {
  // TODO(1): this thread doubles the element that has its number in the grid. The last block may
  //          reach beyond n: those threads touch nothing.
  // BEGIN SOLUTION
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < n) output[i] = 2 * input[i];
  // END SOLUTION
}

/// Starts the kernel for n elements.
void launch(const float* input, float* output, std::size_t n) {
  // TODO(2): launch blocks of kThreads threads: enough for n elements, and not one block more.
  // BEGIN SOLUTION
  // STUB: throw not_written("the kernel and its launch", 1);  // 1 and 2 are one step
  const auto blocks = static_cast<unsigned>((n + kThreads - 1) / kThreads);  // rounded up
  double_each<<<blocks, kThreads>>>(input, output, n);
  // END SOLUTION
}

}  // namespace

// --- given ---------------------------------------------------------------------------------------

result twice(std::span<const float> input) {
  constexpr std::size_t kMost = std::size_t{0x7FFF'FFFF} * kThreads;  // the largest grid
  if (input.size() > kMost) throw invalid_input("too many elements for one grid");
  if (input.empty()) return {};  // a grid of no blocks would be an error

  const device_buffer device_input(input);
  device_buffer<float> device_output(input.size());

  event_timer timer;
  timer.start();
  launch(device_input.data(), device_output.data(), input.size());
  timer.stop();
  CUDA_CHECK(cudaGetLastError());  // a launch returns nothing, so query its error

  return {device_output.to_vector(), timer.milliseconds()};
}

}  // namespace lab::EXERCISE_NAME
