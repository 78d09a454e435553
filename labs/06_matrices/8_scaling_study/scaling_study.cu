// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 06.8 scaling_study: how the rate of a matrix product depends on its size and on the block's.
// Edit:  this file, from TODO(1) to TODO(6). scaling_study.hpp has the contract.
// Run:   scripts/lab run 06.8
// Test:  scripts/lab test 06.8
// Hints: scripts/lab hint 06.8                   Chapter: docs/06_matrices.md

#include <cuda_runtime.h>

#include "given.hpp"

namespace lab::scaling_study {
namespace {

// --- the kernel ----------------------------------------------------------------------------------

/// Requires blocks of kBlock x kBlock threads, one for each element of the block's tile of C.
template <unsigned kBlock>
__global__ void __launch_bounds__(kBlock* kBlock)
    tiled(const float* a, const float* b, float* c, shape size) {
  __shared__ float tile_a[kBlock][kBlock];  // [row of C][i]
  __shared__ float tile_b[kBlock][kBlock];  // [i][column of C]

  // TODO(1): the product in tiles, as in 06.5: in slices of kBlock along k the block fills both
  //          tiles, then each thread adds the slice's products to its sum. element() is 0 where a
  //          tile extends beyond its matrix; all threads reach all barriers.
}

template <unsigned kBlock>
void launch_tiled(on_device& matrices) {
  // TODO(1): launch tiled<kBlock> with a block for each tile of C, including those at the edges.
  //          Check that the launch was accepted, but do not wait for the kernel.
}

/// Launches the kernel for blocks of `block` x `block` threads once.
void launch(unsigned block, on_device& matrices) {
  // TODO(2): `block` is known when the program runs, a template's argument when it is compiled. So
  //          there is a launch_tiled<…> for each of kBlocks, and one of them is chosen here.
  throw not_written("the kernel", 1);  // 1 and 2
}

// --- the study -----------------------------------------------------------------------------------

/// Launches once, and throws wrong_product unless C is the expected result of the problem.
void verify(const problem& product, unsigned block, on_device& matrices) {
  // TODO(3): compare_exact() (lab/closeness.hpp) compares all elements, and has a message.
  //          matrices.c must not hold an older result.
  throw not_written("the verification", 3);
}

/// The time of one sample, in milliseconds: all its launches together.
float time_sample(unsigned block, on_device& matrices, unsigned launches) {
  // TODO(4): one event_timer around all of them: an event's clock ticks about every half a
  //          microsecond, so a short kernel alone says little.
  throw not_written("the time of a sample", 4);
}

/// Measures one problem with one block size.
row measure(const problem& product, unsigned block, plan options) {
  // TODO(5): copy the matrices to the device and verify(). Then take samples. Invariant: all that
  //          are kept have the same number of launches, and took sample_ms or longer. One that is
  //          too short doubles the number, and the samples kept so far are discarded. Then the
  //          rest of the row: scaling_study.hpp has the formulas, lab/report.hpp a median.
  throw not_written("the measurement", 3);  // 3, 4 and 5
}

}  // namespace

std::vector<row> study(std::span<const problem> problems, std::span<const unsigned> blocks,
                       plan options) {
  require_sensible(problems, blocks, options);
  // TODO(6): measure() every problem with every block size, in the order of scaling_study.hpp.
  throw not_written("the study", 1);  // begin at the beginning
}

}  // namespace lab::scaling_study
