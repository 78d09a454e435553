// SPDX-FileCopyrightText: The CUDA Labs authors
// SPDX-License-Identifier: Apache-2.0

// 04.1 julia_set: one thread per pixel, first in blocks of one thread, then of 16 x 16.
// Edit:  this file, from TODO(1) to TODO(4). julia_set.hpp has the formulas.
// Run:   scripts/lab run 04.1 -- --step one_thread_per_block     (writes julia_set.png)
// Test:  scripts/lab test 04.1
// Hints: scripts/lab hint 04.1                                   Chapter: docs/04_images.md

#include <cuda_runtime.h>

#include "given.hpp"

namespace lab::julia_set {
namespace {

constexpr int kTile = 16;  // a block of blocks_16x16 is kTile x kTile threads

// --- what one pixel needs ------------------------------------------------------------------------

// A complex number for kernels: functions that a kernel calls are marked __device__. __fmul_rn,
// __fadd_rn and __fsub_rn are *, + and - that the compiler never fuses. It may otherwise fuse
// a * b + c into one instruction with one rounding, which changes pixels at the edge of the set.
struct complex {
  float re = 0, im = 0;

  // TODO(1): the sum, the square and the squared distance from 0, as in julia_set.hpp.
  __device__ complex operator+(complex other) const {
    return *this;  // not yet
  }
  __device__ complex squared() const {
    return *this;  // not yet
  }
  __device__ float magnitude2() const {
    return 0;  // not yet
  }
};

__device__ int iterations_of(const view& region, int x, int y) {
  const float2 start = start_of(region, x, y);
  complex z{start.x, start.y};
  // TODO(2): z = z * z + c, at most max_iterations times; return how many of them z survived
  //          before its magnitude2() exceeded kEscaped.
  return -1;
}

// --- one_thread_per_block: one block per pixel ---------------------------------------------------
// Requires a picture no larger than a grid can be: in y, that is 65 535 blocks.

__global__ void one_thread_per_block(view region, int* iterations) {
  // TODO(3): this block's pixel is (blockIdx.x, blockIdx.y). Store its iterations_of() at its
  //          index: row by row, [y * width + x].
}

void launch_one_thread_per_block(const view& region, int* iterations) {
  // TODO(3): launch it with one block per pixel. require_fits(grid) throws if it is too large.
  throw not_written("step one_thread_per_block", 1);  // 1, 2 and 3 are this step
}

// --- blocks_16x16: one block per tile of the picture ---------------------------------------------
// Requires a guard: if width or height is no multiple of 16, the last blocks extend beyond it.

__global__ void blocks_16x16(view region, int* iterations) {
  // TODO(4): the pixel of this thread; neighbouring threads of a warp must have neighbouring x.
  //          Threads outside the picture do nothing.
}

void launch_blocks_16x16(const view& region, int* iterations) {
  // TODO(4): as before, with just enough blocks of kTile x kTile threads to cover the picture.
  throw not_written("step blocks_16x16", 4);
}

}  // namespace

result compute(step version, const view& region) {
  return host_part_of_compute({launch_one_thread_per_block, launch_blocks_16x16}, version, region);
}

}  // namespace lab::julia_set
